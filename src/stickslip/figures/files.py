"""Checks before a computation that its files can be written afterwards."""

import tempfile
from pathlib import Path

from stickslip.io.printable import visible


def require_writable(option: str, path: Path) -> None:
    """Raise ValueError unless the file can be written; `option` names the option that gave `path`, for the message."""
    if path.is_dir():
        raise ValueError(f"{option} must name a file, and {visible(path)} is a folder.")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {visible(path)}: the folder {visible(path.parent)} does not exist.")
    require_writable_folder(f"{option} {visible(path)}: the folder {visible(path.parent)}", path.parent)


def require_writable_folder(what: str, folder: Path) -> None:
    """Raise ValueError unless a file can be made in the folder; `what` begins the message.

    A file is made and removed, since permissions alone do not tell: /proc allows writing, but no new file.
    """
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        raise ValueError(f"{what} cannot be written to.") from None


def require_figure(option: str, path: Path) -> None:
    """Raise ValueError unless a figure can be written to `path`: its suffix, its folder, no picture of someone else."""
    from stickslip.figures import style

    if path.suffix.lower().removeprefix(".") not in style.FORMATS:
        raise ValueError(f"{option} must end in .png, .svg or .pdf, got {path.name!r}.")
    require_writable(option, path)
    refuse_foreign(option, path)


def refuse_foreign(option: str, path: Path) -> None:
    """Raise ValueError if `path` holds a file that stickslip did not draw; a picture of ours may be drawn again."""
    from stickslip.figures import style

    if path.exists() and not style.is_ours(path):
        raise ValueError(f"{option} {visible(path)} exists and was not drawn by stickslip: it is never replaced.")


def require_page(option: str, path: Path) -> None:
    """Raise ValueError unless a page can be written to `path`: its suffix and its folder."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{option} must end in .html, got {path.name!r}.")
    require_writable(option, path)
    refuse_foreign(option, path)
