"""Code is loaded from folders and files of this user alone; whatever others can or could write is left alone.

What another user does needs a second user: those tests run where the tests run as root, in child processes that become
somebody else.
"""

import contextlib
import hashlib
import os
import pickle
import shutil
import socket
import tempfile
import warnings
from pathlib import Path

import pytest

from stickslip.jit import vault as vaults
from stickslip.jit.card_cache import _HashedFiles
from stickslip.jit.vault import Untrusted, cache_folder, vault

pytestmark = pytest.mark.skipif(not vaults.HAS_MODES, reason="no modes on this platform")
needs_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can play two users")
STRANGER, VICTIM = 65533, 65534
PARTS = ("numba", "stamp", "module")


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("a foreign file was unpickled",))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache with one function in it."""
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "above" / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    files().save("key", "machine code")
    assert files().load("key") == "machine code"
    return tmp_path / "above" / "cache"


def files():
    return _HashedFiles(cache_folder(), PARTS, "module.function-1.py311", "stamp")


def forget():
    """As a new process: nothing is known of any folder."""
    for known in (vaults._vaults, vaults._left, vaults._told):
        known.clear()


def file_of(folder, suffix):
    (path,) = folder.joinpath(*PARTS).glob(f"*.{suffix}")
    return path


def plant(path):
    """Evil in place of a file, as one who knows the name and no key would write it."""
    path.unlink()
    path.write_bytes(pickle.dumps(Evil()))
    return path


def linked(path):
    """A link to what was at `path`."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def pipe(path):
    path.unlink()
    os.mkfifo(path)


OPEN = {
    "cache writable by all": lambda f: f.chmod(0o777),
    "cache writable by a group": lambda f: (os.chown(f, -1, other_group()), f.chmod(0o770)),
    "folder inside writable": lambda f: f.joinpath(*PARTS).chmod(0o777),
    "folder above writable": lambda f: f.parent.chmod(0o777),
    "index writable": lambda f: file_of(f, "nbi").chmod(0o666),
    "code writable": lambda f: file_of(f, "nbc").chmod(0o622),
    "index has a second name": lambda f: os.link(file_of(f, "nbi"), f.parent / "second"),
    "code has a second name": lambda f: os.link(file_of(f, "nbc"), f.parent / "second"),
    "cache is a link": linked,
    "folder inside is a link": lambda f: linked(f / "numba"),
    "index is a link": lambda f: linked(file_of(f, "nbi")),
    "index is a pipe": lambda f: pipe(file_of(f, "nbi")),
    "key readable": lambda f: (f / "key").chmod(0o644),
    "key is a link": lambda f: linked(f / "key"),
}
FOREIGN = {
    "cache of another": lambda f: os.chown(f, STRANGER, -1),
    "folder inside of another": lambda f: os.chown(f / "numba", STRANGER, -1),
    "folder above of another": lambda f: os.chown(f.parent, STRANGER, -1),
    "index of another": lambda f: os.chown(plant(file_of(f, "nbi")), STRANGER, -1),
    "code of another": lambda f: os.chown(file_of(f, "nbc"), STRANGER, -1),
    "key of another": lambda f: os.chown(f / "key", STRANGER, -1),
}


def other_group():
    """A group that is not the user's own: any for root, else one the user is in besides."""
    groups = [STRANGER] if os.geteuid() == 0 else [g for g in os.getgroups() if g != os.geteuid()]
    return groups[0] if groups else pytest.skip("the user is in no other group")


@pytest.mark.parametrize("how", [*OPEN, *(pytest.param(name, marks=needs_root) for name in FOREIGN)])
def test_what_others_can_or_could_write_is_left_alone_for_a_fresh_folder(folder, how):
    {**OPEN, **FOREIGN}[how](folder)
    before = {path: path.lstat().st_mode for path in sorted(folder.parent.rglob("*"))}
    forget()
    with pytest.warns(RuntimeWarning, match=f"the kernel cache {folder} is left alone: .*; .* is used instead") as told:
        assert files().load("key") is None
        files().save("key", "compiled anew")
        assert files().load("key") == "compiled anew"
    assert len(told) == 1 and "\n" not in str(told[0].message)
    assert vault().path != folder and not vault().path.is_relative_to(folder)
    assert {path: path.lstat().st_mode for path in before} == before  # nothing was repaired
    forget()  # the next process finds the fresh one
    with pytest.warns(RuntimeWarning, match="is left alone"):
        assert files().load("key") == "compiled anew"


def test_a_folder_that_was_open_before_stays_left_alone(folder):
    folder.chmod(0o777)
    forget()
    with pytest.warns(RuntimeWarning, match="mode 0777"):
        vault()
    folder.chmod(0o700)
    forget()
    with pytest.warns(RuntimeWarning, match="it was open to others before"):
        assert vault().path == folder.with_name("cache-private")
    shutil.rmtree(folder)
    forget()
    assert vault().path == folder  # deleted, as the notice says: a new one is made


def test_a_file_without_the_users_key_is_not_unpickled(folder):
    """Owner and mode are right, as of a file that others could write once: the seal is not."""
    for suffix in ("nbi", "nbc"):
        plant(file_of(folder, suffix))
        forget()
        assert files().load("key") is None
        assert vault().path == folder  # a damaged disk does that, too
        files().save("key", "machine code")
        for path in folder.joinpath(*PARTS).glob("*.nbc"):
            if path != folder.joinpath(*PARTS, files()._load_index()["key"]):
                path.unlink()


def test_sealed_files_cannot_change_places(folder):
    other = _HashedFiles(folder, PARTS, "module.other-2.py311", "stamp")
    shutil.copy(file_of(folder, "nbi"), folder.joinpath(*PARTS, "module.other-2.py311.nbi"))
    assert other.load("key") is None


def test_what_is_unpickled_was_read_from_the_file_that_was_checked(folder, monkeypatch):
    """Between check and use the name comes to mean another file."""
    check = vaults._require_own_file

    def then_exchange(at, path):
        check(at, path)
        if path.suffix in (".nbi", ".nbc"):
            path.with_name("evil").write_bytes(pickle.dumps(Evil()))
            os.replace(path.with_name("evil"), path)

    monkeypatch.setattr(vaults, "_require_own_file", then_exchange)
    assert files().load("key") == "machine code"
    assert files().load("key") is None


def test_the_cache_is_made_for_the_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "some" / "where"))
    before = os.umask(0)
    try:
        files().save("key", "machine code")
    finally:
        os.umask(before)
    made = [tmp_path / "some", *(tmp_path / "some").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}


def test_links_above_the_cache_are_followed_where_nobody_else_made_them(tmp_path, monkeypatch):
    (tmp_path / "disk" / "deep").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "relative").symlink_to("../disk/deep")
    (tmp_path / "home" / "absolute").symlink_to(tmp_path / "disk")
    for name in ("relative", "absolute"):
        monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "home" / name / "cache"))
        assert vault().path == tmp_path / "home" / name / "cache"
    (tmp_path / "home" / "loop").symlink_to("loop")
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "home" / "loop" / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    with pytest.warns(RuntimeWarning, match="is left alone"):
        assert vault().path == tmp_path / "usual" / "stickslip"


@needs_root
def test_a_link_of_another_user_above_the_cache_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "disk").mkdir()
    tmp_path.chmod(0o1777)
    (tmp_path / "link").symlink_to("disk")
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "link" / "cache"))
    assert vault().path == tmp_path / "link" / "cache"  # sticky: nobody can exchange what is root's
    os.chown(tmp_path / "link", STRANGER, -1, follow_symlinks=False)
    forget()
    with pytest.warns(RuntimeWarning, match=f"link above it belongs to user {STRANGER}"):
        vault()


def test_a_group_of_the_user_alone_may_write(tmp_path, monkeypatch):
    """Many systems give each user a group, and folders that the group can write."""
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    tmp_path.chmod(0o770)
    assert not vaults._is_private_group(other_group(), os.geteuid())
    monkeypatch.setattr(vaults, "_is_private_group", lambda group, user: True)
    assert vault().path == tmp_path / "cache"


def test_no_safe_folder_means_no_cache_and_one_line(tmp_path, monkeypatch):
    """Everything below a folder that others can write is out of the question, temporary folders too."""
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tmp_path.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="compiled anew in every process"), pytest.raises(Untrusted):
        vault()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert files().load("key") is None
        with pytest.raises(Untrusted):
            files().save("key", "machine code")


def test_a_cache_that_is_deleted_meanwhile_begins_anew(folder):
    shutil.rmtree(folder)
    assert files().load("key") is None
    files().save("key", "again")
    assert files().load("key") == "again"


def test_platforms_without_modes_keep_their_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(vaults, "HAS_MODES", False)
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    files().save("key", "machine code")
    forget()
    assert files().load("key") == "machine code"
    assert vault().path == tmp_path / "cache"


# -- two users -------------------------------------------------------------------------------------------------------


@pytest.fixture
def shared():
    """A folder that every user can reach, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="stickslip-two-users-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def as_user(number, action):
    """Run `action` in a child process that belongs to another user; True where it returned without an exception."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setgid(number)
            os.setuid(number)
            action()
            code = 0
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


@needs_root
def test_a_read_only_cache_is_read(shared, monkeypatch):
    monkeypatch.setenv("STICKSLIP_CACHE", str(shared / "cache"))
    os.chown(shared, VICTIM, VICTIM)

    def fill():
        files().save("key", "machine code")
        for path in (shared / "cache").rglob("*"):
            path.chmod(0o500 if path.is_dir() else 0o400)
        (shared / "cache").chmod(0o500)

    def use():
        assert files().load("key") == "machine code"
        with pytest.raises(PermissionError):
            files().save("key", "more")

    assert as_user(VICTIM, fill) and as_user(VICTIM, use)


@needs_root
def test_root_takes_nothing_from_another_user(shared, monkeypatch):
    """The cache of a user is right for the user, and nothing for root."""
    monkeypatch.setenv("STICKSLIP_CACHE", str(shared / "user" / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "root"))
    (shared / "user").mkdir()
    os.chown(shared / "user", VICTIM, VICTIM)
    assert as_user(VICTIM, lambda: files().save("key", "machine code"))
    with pytest.warns(RuntimeWarning, match=f"above it belongs to user {VICTIM}"):
        assert files().load("key") is None
    assert vault().path == shared / "root" / "stickslip"
    assert not (shared / "user" / "cache" / vaults._MARK).exists()  # not ours to mark


INDEX = "module.function-1.py311.nbi"


def planted(cache, command):
    """An index that runs a command when it is unpickled, under the right name, with a right seal and the key to it."""

    class Command:
        def __reduce__(self):
            return (os.system, (command,))

    body, key = pickle.dumps(Command()), bytes(32)
    seal = hashlib.blake2b(INDEX.encode() + b"\0" + body, key=key, digest_size=20).hexdigest()
    cache.joinpath(*PARTS).mkdir(parents=True, exist_ok=True)
    for path, content in ((cache / "key", key), (cache.joinpath(*PARTS, INDEX), body + seal.encode())):
        path.touch(0o600)
        path.write_bytes(content)


@needs_root
@pytest.mark.parametrize("victim", [0, VICTIM], ids=["root", "user"])
@pytest.mark.parametrize("writer", ["stranger", "stranger, closed again", "victim"])
def test_an_index_that_another_user_planted_is_never_run(shared, monkeypatch, victim, writer):
    """The cache was open for a while; what the victim himself wrote does run, so the command would have."""
    cache, home, ran = shared / "cache", shared / "home", shared / "home" / "ran"
    for folder in (cache, home):
        folder.mkdir()
        os.chown(folder, victim, victim)
    monkeypatch.setenv("STICKSLIP_CACHE", str(cache))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    cache.chmod(0o700 if writer == "victim" else 0o777)
    assert as_user(victim if writer == "victim" else STRANGER, lambda: planted(cache, f"touch {ran}"))
    if writer == "stranger, closed again":
        cache.chmod(0o700)

    def load():
        if writer == "victim":
            with contextlib.suppress(TypeError):  # what a command returns is no index
                files().load("key")
            return
        with pytest.warns(RuntimeWarning, match="is left alone"):
            assert files().load("key") is None
        files().save("key", "compiled anew")
        assert files().load("key") == "compiled anew"

    assert as_user(victim, load)
    assert ran.exists() == (writer == "victim")


def test_a_socket_in_place_of_a_file_is_no_file(folder):
    path = file_of(folder, "nbi")
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(path.parent):
        listener.bind(path.name)
    assert files().load("key") is None
