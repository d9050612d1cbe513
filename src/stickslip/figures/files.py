"""Whether a file could be written, asked before anything is computed."""

import tempfile
from pathlib import Path


def require_writable(option: str, path: Path) -> None:
    """Raise unless a file of this name could be written; `option` is what the user gave it with."""
    if path.is_dir():
        raise ValueError(f"{option} must name a file, and {path} is a folder.")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: the folder {path.parent} does not exist.")
    require_writable_folder(f"{option} {path}: the folder {path.parent}", path.parent)


def require_writable_folder(what: str, folder: Path) -> None:
    """Raise unless a file can be made in a folder; permissions alone do not tell, as in /proc."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        raise ValueError(f"{what} cannot be written to.") from None


def require_figure(option: str, path: Path) -> None:
    """Raise unless a figure could be drawn into this file."""
    from stickslip.figures import style

    if path.suffix.lower().removeprefix(".") not in style.FORMATS:
        raise ValueError(f"{option} must end in .png, .svg or .pdf, got {path.name!r}.")
    require_writable(option, path)
    refuse_foreign(option, path)


def refuse_foreign(option: str, path: Path) -> None:
    """Raise if there is a picture that we did not draw; one of ours is simply drawn again."""
    from stickslip.figures import style

    if path.exists() and not style.is_ours(path):
        raise ValueError(f"{option} {path} exists and was not drawn by stickslip: it is never replaced.")


def require_page(option: str, path: Path) -> None:
    """Raise unless a page could be written into this file."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{option} must end in .html, got {path.name!r}.")
    require_writable(option, path)
    refuse_foreign(option, path)
