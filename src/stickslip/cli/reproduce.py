"""`stickslip reproduce KEY`: figures of the papers, computed and drawn anew."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.options import AsJson, Bare, Quiet, Width
from stickslip.cli.output import print_json
from stickslip.debug import on_terminal

if TYPE_CHECKING:
    from stickslip.trajectory import Certificate

_FAILED = 1


def reproduce(
    key: Annotated[
        str | None,
        typer.Argument(metavar="KEY|all", help="Key of a figure, such as gs05-fig4, or `all`; none: a list."),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="Folder for the files; made if it is not there.", metavar="DIR")] = Path(
        "figures"
    ),
    formats: Annotated[
        str, typer.Option("--format", help="Any of png, svg, pdf, with commas between them.", metavar="LIST")
    ] = "png,svg",
    width: Width = None,
    bare: Bare = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute and draw a paper's figure; print its files, the command for it and our certificate.

    `all` draws every figure and writes an index page, DIR/index.html, with paper, command, parameters and certificate
    of each.  A figure that fails does not keep the others from being drawn; then the exit code is 1.  Without a key
    the figures are listed.
    """
    from stickslip import papers
    from stickslip.figures.sheet import inches, on_paper

    if key is None:
        _list(as_json)
        return
    keys = papers.keys() if key == "all" else (key,)
    if key != "all":
        papers.check_key(key)
    kinds = _formats(formats)
    if width is not None:
        inches(width)
    index = out / "index.html" if key == "all" else None
    files = [out / f"{name}.{kind}" for name in keys for kind in kinds]
    _check_folder(out, files if index is None else [*files, index])
    drawn: list[dict[str, Any]] = []
    with on_paper(width, bare=bare), _progress(len(keys)) as advance:
        for name in keys:
            advance(name)
            drawn.append(_draw(name, out, kinds) if index is None else _drawn_or_told(name, out, kinds))
            if not (as_json or (quiet and "error" not in drawn[-1])):
                _show(drawn[-1])
    if index is not None:
        from stickslip.papers.gallery import write_index

        write_index(index, [{**row, **_proof(row)} for row in drawn])
    if as_json:
        print_json({"figures": drawn} | ({} if index is None else {"index": str(index)}), indent=2)
    elif index is not None and not quiet:
        print(f"index: {index}")
    if any("error" in row for row in drawn):
        raise typer.Exit(_FAILED)


def _list(as_json: bool) -> None:
    """Print the keys of the figures, a line for each paper."""
    import textwrap

    from stickslip import papers
    from stickslip.papers.gallery import PAPERS

    if as_json:
        print_json({"figures": list(papers.keys())}, indent=2)
        return
    for paper, citation in PAPERS.items():
        own = [key for key in papers.keys() if key.startswith(f"{paper}-")]  # noqa: SIM118
        print(textwrap.fill(f"[{paper.upper()}] {citation}", 100, subsequent_indent="  "))
        print(
            textwrap.fill(" ".join(own), 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        )
    print("`stickslip reproduce KEY` draws one, `stickslip reproduce all` every one of them.")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A bar on stderr that names the figure in work, where several are drawn and stderr is a terminal."""
    if total < 2 or not on_terminal(sys.stderr):
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        started: list[str] = []

        def advance(name: str) -> None:
            bar.update(task, description=name, completed=len(started))
            started.append(name)

        yield advance


def _drawn_or_told(key: str, folder: Path, kinds: list[str]) -> dict[str, Any]:
    """The figure's row, or one that says why there is no figure."""
    try:
        return _draw(key, folder, kinds)
    except Exception as error:
        return {"key": key, "error": f"{type(error).__name__}: {' '.join(str(error).split())}"}


def _proof(row: dict[str, Any]) -> dict[str, Any]:
    """The certificate of a row in words, and whether nothing failed."""
    if "error" in row:
        return {}
    if row["certificate"] is None:
        return {"proof": f"a drawing; checked: {row['check']}", "clean": True}
    from stickslip.trajectory import Certificate

    certificate = Certificate(**row["certificate"])
    words = str(certificate) if row["dt"] > 0.0 else _of_impacts(certificate)
    return {"proof": words, "clean": certificate.failed_steps == 0}


def _formats(text: str) -> list[str]:
    from stickslip.figures import style

    kinds = [kind.strip().lower().removeprefix(".") for kind in text.split(",")]
    for kind in kinds:
        if kind not in style.FORMATS:
            raise ValueError(f"--format must be any of {', '.join(style.FORMATS)} with commas between, got {text!r}.")
    return list(dict.fromkeys(kinds))


def _check_folder(folder: Path, files: list[Path]) -> None:
    from stickslip.figures.files import refuse_foreign, require_writable_folder

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out {folder} cannot be made a folder: {error.strerror}.") from None
    require_writable_folder(f"--out {folder}", folder)
    for file in files:
        refuse_foreign("--out", file)


def _draw(key: str, folder: Path, kinds: list[str]) -> dict[str, Any]:
    from stickslip import papers
    from stickslip.figures import style

    done = papers.reproduce(key)
    files = [style.save(done.figure, folder / f"{key}.{kind}", title=f"{done.source}. {done.title}") for kind in kinds]
    return {
        "key": key,
        "source": done.source,
        "title": done.title,
        "command": f"stickslip reproduce {key}",
        "dt": done.dt,
        "parameters": dict(done.parameters),
        "certificate": None if done.certificate is None else done.certificate.to_dict(),
        "check": _plain(done.check),
        "files": [str(file) for file in files],
    }


def _plain(text: str) -> str:
    """Words of a figure for a terminal: formulas without their marks."""
    return text.replace("$", "").replace("\\", "")


def _show(done: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    if "error" in done:
        console.print(Text(f"{done['key']}: {done['error']}", style="red"), soft_wrap=True)
        return
    console.print(Text(f"{done['source']}: {done['title']}", style="bold"), soft_wrap=True)
    for file in done["files"]:
        console.print(Text(f"  {'written':<12}{file}"), soft_wrap=True)
    console.print(Text(f"  {'command':<12}{done['command']}"), soft_wrap=True)
    found = _proof(done)
    style = "green" if found["clean"] else "red"
    console.print(Text(f"  {'certificate':<12}{found['proof']}", style=style), soft_wrap=True)


def _of_impacts(certificate: "Certificate") -> str:
    """The certificate of a figure that shows impacts: there are no steps and no penetration."""
    text = f"{certificate.failed_steps} unsolved impacts, worst residual {certificate.max_residual:.1e}, "
    gain = certificate.max_energy_gain
    if gain <= 1e-9:
        return text + "no energy gained"
    return text + f"up to {gain:.1e} J gained, as unequal coefficients may under Newton's law ([PG05] (14))"
