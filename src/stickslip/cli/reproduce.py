"""`stickslip reproduce KEY`: figures of the papers, computed and drawn anew."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from stickslip.trajectory import Certificate


def reproduce(
    key: Annotated[str, typer.Argument(metavar="KEY|all", help="Key of a figure, such as gs05-fig4, or `all`.")],
    out: Annotated[Path, typer.Option(help="Folder for the files; made if it is not there.", metavar="DIR")] = Path(
        "figures"
    ),
    formats: Annotated[
        str, typer.Option("--format", help="Any of png, svg, pdf, with commas between them.", metavar="LIST")
    ] = "png,svg",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Compute and draw a paper's figure; print its files, the command for it and our certificate."""
    from stickslip import figures

    keys = figures.keys() if key == "all" else (key,)
    if key != "all":
        figures.check_key(key)
    kinds = _formats(formats)
    _check_folder(out, [out / f"{name}.{kind}" for name in keys for kind in kinds])
    drawn = []
    for name in keys:
        done = _draw(name, out, kinds)
        drawn.append(done)
        if not as_json:
            _show(done)
    if as_json:
        print(json.dumps({"figures": drawn}, indent=2))


def _formats(text: str) -> list[str]:
    from stickslip.figures import style

    kinds = [kind.strip().lower().removeprefix(".") for kind in text.split(",")]
    for kind in kinds:
        if kind not in style.FORMATS:
            raise ValueError(f"--format must be any of {', '.join(style.FORMATS)} with commas between, got {text!r}.")
    return list(dict.fromkeys(kinds))


def _check_folder(folder: Path, files: list[Path]) -> None:
    from stickslip.cli.files import refuse_foreign, require_writable_folder

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out {folder} cannot be made a folder: {error.strerror}.") from None
    require_writable_folder(f"--out {folder}", folder)
    for file in files:
        refuse_foreign("--out", file)


def _draw(key: str, folder: Path, kinds: list[str]) -> dict[str, Any]:
    from stickslip import figures
    from stickslip.figures import style

    done = figures.reproduce(key)
    files = [style.save(done.figure, folder / f"{key}.{kind}", title=f"{done.source}. {done.title}") for kind in kinds]
    return {
        "key": key,
        "source": done.source,
        "title": done.title,
        "command": f"stickslip reproduce {key}",
        "dt": done.dt,
        "parameters": dict(done.parameters),
        "certificate": done.certificate.to_dict(),
        "files": [str(file) for file in files],
    }


def _show(done: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.text import Text

    from stickslip.trajectory import Certificate

    console = Console()
    console.print(Text(f"{done['source']}: {done['title']}", style="bold"), soft_wrap=True)
    for file in done["files"]:
        console.print(Text(f"  {'written':<12}{file}"), soft_wrap=True)
    console.print(Text(f"  {'command':<12}{done['command']}"), soft_wrap=True)
    certificate = Certificate(**done["certificate"])
    style = "green" if certificate.failed_steps == 0 else "red"
    text = str(certificate) if done["dt"] > 0.0 else _of_impacts(certificate)
    console.print(Text(f"  {'certificate':<12}{text}", style=style), soft_wrap=True)


def _of_impacts(certificate: "Certificate") -> str:
    """The certificate of a figure that shows impacts: there are no steps and no penetration."""
    text = f"{certificate.failed_steps} unsolved impacts, worst residual {certificate.max_residual:.1e}, "
    gain = certificate.max_energy_gain
    if gain <= 1e-9:
        return text + "no energy gained"
    return text + f"up to {gain:.1e} J gained, as unequal coefficients may under Newton's law ([PG05] (14))"
