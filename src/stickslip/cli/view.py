"""`stickslip view`: the live page, on this machine only."""

from pathlib import Path
from typing import Annotated

import typer


def view(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FILE]...",
            help="A library system, model files (.toml), saved runs (.nc); default: the woodpecker.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", metavar="N")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Open the live page: motion, contacts, histories, sliders.

    A model file is read again when it has changed: press Reset on the page.

    The page is served on 127.0.0.1 only, to this machine; Ctrl-C ends it.
    """
    from stickslip.page.server import HOST, Server
    from stickslip.page.service import Service
    from stickslip.page.showing import serve

    if not 0 <= port <= 65535:
        raise ValueError(f"--port must lie between 0 and 65535, got {port}.")
    name, files = _asked(what or [])
    try:
        server = Server(Service(name, files), port)
    except OSError as error:
        raise ValueError(f"--port {port} on {HOST} cannot be used: {error.strerror}.") from None
    serve(server, browser)


_MAKES = {".nc": "stickslip run NAME --out {}", ".toml": "stickslip new NAME > {}"}
"""Suffix of a file that can be shown -> the command that writes one."""


def _asked(what: list[str]) -> tuple[str | None, list[Path]]:
    """The library system to begin with, and the files to offer; each is checked before anything is served."""
    from stickslip import library
    from stickslip.io.load import is_trajectory
    from stickslip.io.models.file import read_model

    name, files = None, []
    for text in what:
        path = Path(text)
        if path.suffix in _MAKES or path.is_file():
            if not path.is_file():
                raise ValueError(f"there is no file {text}; `{_MAKES[path.suffix].format(text)}` would write one.")
            if path.suffix == ".toml":
                read_model(path)  # says what is wrong, with line and key
            elif not is_trajectory(path):
                raise ValueError(f"{text} is neither a model file (.toml) nor a saved run of ours.")
            files.append(path.resolve())
        elif name is not None:
            raise ValueError(f"one library system can be shown first, got {name!r} and {text!r}.")
        else:
            library.keywords(text)  # says which names are known
            if text in library.circuit_names():
                raise ValueError(
                    f"{text} is a circuit, which the page does not show; stickslip run {text} --plot FILE does."
                )
            name = text
    return name, files
