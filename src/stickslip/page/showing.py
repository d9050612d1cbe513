"""Results on a page, from Python: `run.show()` and `view(...)`, in a notebook or in the browser."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
from html import escape
from pathlib import Path
from typing import Any

from stickslip.bars import in_notebook
from stickslip.interrupts import undoing
from stickslip.io.models.file import write_model
from stickslip.io.printable import file_name
from stickslip.page.document import standalone
from stickslip.page.entries import scenario_of
from stickslip.scenario import as_shown
from stickslip.trajectory import Trajectory

_HEIGHT = 720  # pixels of a page in a notebook
_PREFIX = "stickslip-page-"  # of folders among the temporary files
_KEPT = 86_400.0  # seconds for which a page stays there: a browser may read it again
_number = itertools.count(1)


class InlinePage:
    """A page that a notebook shows in a frame of its own.

    Attributes
    ----------
    html : the page; empty where it is served.
    address : of a page that is served.
    """

    def __init__(self, html: str, address: str = "", served_by: Any = None) -> None:
        self.html, self.address, self._served_by = html, address, served_by

    def _repr_html_(self) -> str:
        source = f'src="{escape(self.address)}"' if self.address else f'srcdoc="{escape(self.html)}"'
        return f'<iframe {source} width="100%" height="{_HEIGHT}" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<page at {self.address}>" if self.address else f"<page of {len(self.html)} characters>"


def scenario_for(trajectory: Trajectory, scenario: Any) -> Any:
    """The scenario that a run is drawn with: one that is given, or its library entry; None where none is known."""
    found = scenario_of(trajectory) if scenario is None else scenario
    return as_shown(found, trajectory)


def show(trajectory: Trajectory, scenario: Any = None, browser: bool = True) -> InlinePage | Path:
    """Show a run: the page itself in a notebook; else a temporary file, which the browser opens.

    The file stays for a day, and goes with the next page that is shown after it.

    browser : open the browser
    """
    text = standalone(trajectory, scenario)
    if in_notebook():
        return InlinePage(text.decode())
    path = _folder_of_this_process() / f"{file_name(trajectory.system_name)}-{next(_number)}.html"
    path.write_bytes(text)
    if browser:
        open_browser(path.as_uri())
    return path


def view(what: Any, *, dt: float = 1e-3, t_end: float = 2.0, browser: bool = True, port: int = 0) -> Any:
    """Show a run, or the live page of a scenario or a scene, with a slider for every parameter.

    A live page is served to this machine until Ctrl-C; in a notebook it is served beside the notebook, until the
    kernel ends.

    Parameters
    ----------
    what : `Trajectory`, `Scenario` or `Scene`.
    dt, t_end : step size and end time [s] of a scene; a scenario has its own.
    browser : open the browser.
    port : to listen on; 0 takes a free one.
    """
    if isinstance(what, Trajectory):
        return what.show(browser=browser)
    from stickslip.page.server import Server
    from stickslip.page.service import Service

    _remove_old_folders()
    folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
    try:
        name = getattr(getattr(what, "system", what), "name", "")  # of what is none of these nothing is written
        path = write_model(what, Path(folder.name) / f"{file_name(name)}.toml", dt=dt, t_end=t_end)
        server = Server(Service(None, [path]), port)
    except BaseException:
        folder.cleanup()
        raise
    if in_notebook():
        server.workers.start()
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()
        return InlinePage("", server.url, (server, folder))
    with undoing(folder.cleanup), folder:
        serve(server, browser)
    return None


@functools.cache
def _folder_of(process: int) -> Path:
    _remove_old_folders()
    return Path(tempfile.mkdtemp(prefix=_PREFIX))


def _folder_of_this_process() -> Path:
    """Where pages of this process lie: among the temporary files, for this user alone."""
    if not (folder := _folder_of(os.getpid())).is_dir():  # somebody has tidied up
        _folder_of.cache_clear()
        folder = _folder_of(os.getpid())
    return folder


def _remove_old_folders() -> None:
    """Remove folders in which pages of this user were shown long ago; a page lives longer than its process."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if stat.S_ISDIR(found.st_mode) and ours and time.time() - found.st_mtime > _KEPT:
                shutil.rmtree(path)


def serve(server: Any, browser: bool) -> None:
    """Serve a page until Ctrl-C; say where it is."""
    server.workers.start()
    print(f"stickslip: the page is at {server.url}  (Ctrl-C ends it)", file=sys.stderr, flush=True)
    if browser:
        open_browser(server.url)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        print("stickslip: the page is closed", file=sys.stderr)
    finally:
        server.server_close()


def open_browser(url: str) -> None:
    """Open the browser, or say that there is none."""
    import webbrowser

    try:
        opened = webbrowser.open(url)
    except webbrowser.Error:
        opened = False
    if not opened:
        print(f"stickslip: no browser could be opened; open {url} yourself", file=sys.stderr)
