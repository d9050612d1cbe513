"""`stickslip new NAME > my.toml`: a library system as a model file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from stickslip.library.scene_scenario import SceneScenario


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A library system or scene, see `stickslip list`.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of stdout.", metavar="FILE")] = None,
) -> None:
    """Write a library system as a model file: the same equations, the same motion, bit for bit.

    Scenes of `stickslip.library.scenes`, such as cube_stack or card_house, are written as well.
    """
    from stickslip import library
    from stickslip.io.models.file import model_text
    from stickslip.library import scenes

    scenario: Any
    if name in scenes.__all__:
        scenario = _scene(name, settings or [])
    else:
        from stickslip.cli.run import scenario_with

        known = (*library.names(), *library.scene_names())
        if name not in known:
            from stickslip.model.system import unknown_name

            raise ValueError(unknown_name("library entry", name, [*known, *scenes.__all__]))
        scenario = scenario_with(settings or [], name)
    write_text(model_text(scenario), out)


def write_text(text: str, out: Path | None) -> None:
    """Print the text of a model file, or write it to a new file."""
    if out is None:
        print(text, end="")
        return
    from stickslip.cli.files import require_writable
    from stickslip.io.disk import replacing

    require_writable("--out", out)
    if out.exists():
        raise ValueError(f"--out {out} exists; give another name, or remove it.")
    with replacing(out) as draft:
        draft.write_text(text, encoding="utf-8")


def _scene(name: str, settings: Sequence[str]) -> "SceneScenario":
    import inspect

    from stickslip.cli.run import keyword_from, split_settings
    from stickslip.library import scenes
    from stickslip.library.scene_scenario import SceneScenario
    from stickslip.model.system import unknown_name

    make = getattr(scenes, name)
    known = {key: value.default for key, value in inspect.signature(make).parameters.items()}
    values = split_settings(settings, known)
    for key in values:
        if key not in known:
            raise ValueError(f"scene {name!r}: {unknown_name('parameter', key, known)}")
    scene = make(**{key: keyword_from(key, text, known[key]) for key, text in values.items()})
    return SceneScenario(scene, dt=1e-3, t_end=1.0, title=scene.name.capitalize(), source="stickslip.library.scenes")
