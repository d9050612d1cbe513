"""Code is loaded from folders and files of this user alone; whatever others can or could write is left alone.

What another user does needs a second user: those tests run where the tests run as root, in child processes that become
somebody else.
"""

import contextlib
import hashlib
import os
import shutil
import socket
import tempfile
import warnings

import pytest

from stickslip.jit import objects
from stickslip.jit import vault as vaults
from stickslip.jit.vault import Untrusted, vault

pytestmark = pytest.mark.skipif(not vaults.HAS_MODES, reason="no modes on this platform")
needs_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can play two users")
STRANGER, VICTIM = 65533, 65534
NAME, FOREIGN_CODE = "0123456789abcdef.o", b"foreign machine code"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache with one function in it."""
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "above" / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    save("machine code")
    assert load() == "machine code"
    return tmp_path / "above" / "cache"


def save(code):
    objects.write(NAME, code.encode())


def load():
    code = objects.read(NAME)
    return None if code is None else code.decode()


def forget():
    """Forget all folders that were judged, as in a new process."""
    for known in (vaults._vaults, vaults._left, vaults._told):
        known.clear()


def file_of(folder):
    return folder / objects.FOLDER / NAME


def plant(path):
    """Foreign code in place of a file, as one who knows the name and no key would write it."""
    path.unlink()
    path.write_bytes(FOREIGN_CODE + b"0" * vaults.SEAL_LENGTH)
    return path


def linked(path):
    """Move the file or folder `path` elsewhere and put a link to it in its place."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def pipe(path):
    path.unlink()
    os.mkfifo(path)


OPEN = {
    "cache writable by all": lambda f: f.chmod(0o777),
    "cache writable by a group": lambda f: (os.chown(f, -1, other_group()), f.chmod(0o770)),
    "folder inside writable": lambda f: (f / objects.FOLDER).chmod(0o777),
    "folder above writable": lambda f: f.parent.chmod(0o777),
    "code writable": lambda f: file_of(f).chmod(0o622),
    "code has a second name": lambda f: os.link(file_of(f), f.parent / "second"),
    "cache is a link": linked,
    "folder inside is a link": lambda f: linked(f / objects.FOLDER),
    "code is a link": lambda f: linked(file_of(f)),
    "code is a pipe": lambda f: pipe(file_of(f)),
    "key readable": lambda f: (f / "key").chmod(0o644),
    "key is a link": lambda f: linked(f / "key"),
}
FOREIGN = {
    "cache of another": lambda f: os.chown(f, STRANGER, -1),
    "folder inside of another": lambda f: os.chown(f / objects.FOLDER, STRANGER, -1),
    "folder above of another": lambda f: os.chown(f.parent, STRANGER, -1),
    "code of another": lambda f: os.chown(file_of(f), STRANGER, -1),
    "foreign code of another": lambda f: os.chown(plant(file_of(f)), STRANGER, -1),
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
        assert load() is None
        save("compiled anew")
        assert load() == "compiled anew"
    assert len(told) == 1 and "\n" not in str(told[0].message)
    assert vault().path != folder and not vault().path.is_relative_to(folder)
    assert {path: path.lstat().st_mode for path in before} == before  # nothing was repaired
    forget()  # the next process finds the fresh one
    with pytest.warns(RuntimeWarning, match="is left alone"):
        assert load() == "compiled anew"


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


def test_a_file_without_the_users_key_is_not_loaded(folder):
    """Owner and mode are right, as of a file that others could write once: the seal is not."""
    plant(file_of(folder))
    forget()
    assert load() is None
    assert vault().path == folder  # a damaged disk does that, too
    save("machine code")
    assert load() == "machine code"


def test_sealed_files_cannot_change_places(folder):
    shutil.copy(file_of(folder), file_of(folder).with_name("other.o"))
    assert objects.read("other.o") is None


def test_what_is_loaded_was_read_from_the_file_that_was_checked(folder, monkeypatch):
    """Between check and use the name comes to mean another file."""
    check = vaults._require_own_file

    def then_exchange(at, path):
        check(at, path)
        if path.name == NAME:
            path.with_name("evil").write_bytes(FOREIGN_CODE + b"0" * vaults.SEAL_LENGTH)
            os.replace(path.with_name("evil"), path)

    monkeypatch.setattr(vaults, "_require_own_file", then_exchange)
    assert load() == "machine code"
    assert load() is None


def test_the_cache_is_made_for_the_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "some" / "where"))
    before = os.umask(0)
    try:
        save("machine code")
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


def test_a_group_is_private_where_nobody_else_is_in_it(monkeypatch):
    """Neither as a member nor as the group of an account; the administrator shares his with accounts of services."""
    import grp
    import pwd

    def user(name, number, group):
        return pwd.struct_passwd((name, "x", number, group, "", "/", "/bin/sh"))

    anna, groups = user("anna", 1000, 1000), {1000: ("anna", []), 1001: ("staff", []), 0: ("root", [])}
    users = {1000: anna, 0: user("root", 0, 0)}
    monkeypatch.setattr(pwd, "getpwuid", users.__getitem__)
    monkeypatch.setattr(pwd, "getpwall", lambda: list(users.values()))
    monkeypatch.setattr(grp, "getgrgid", lambda g: grp.struct_group((groups[g][0], "x", g, groups[g][1])))
    private = vaults._is_private_group.__wrapped__
    assert private(1000, 1000) and not private(1001, 1000) and not private(0, 0) and not private(0, 1000)
    users[1002] = user("bob", 1002, 1000)
    assert not private(1000, 1000)
    del users[1002]
    groups[1000] = ("anna", ["bob"])
    assert not private(1000, 1000)


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
        assert load() is None
        with pytest.raises(Untrusted):
            save("machine code")


def test_a_cache_that_is_deleted_meanwhile_begins_anew(folder):
    shutil.rmtree(folder)
    assert load() is None
    save("again")
    assert load() == "again"


def test_platforms_without_modes_keep_their_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(vaults, "HAS_MODES", False)
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    save("machine code")
    forget()
    assert load() == "machine code"
    assert vault().path == tmp_path / "cache"


# -- two users -------------------------------------------------------------------------------------------------------


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
        save("machine code")
        for path in (shared / "cache").rglob("*"):
            path.chmod(0o500 if path.is_dir() else 0o400)
        (shared / "cache").chmod(0o500)

    def use():
        assert load() == "machine code"
        with pytest.raises(PermissionError):
            save("more")

    assert as_user(VICTIM, fill) and as_user(VICTIM, use)


@needs_root
def test_root_takes_nothing_from_another_user(shared, monkeypatch):
    """The cache of a user is right for the user, and nothing for root."""
    monkeypatch.setenv("STICKSLIP_CACHE", str(shared / "user" / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "root"))
    (shared / "user").mkdir()
    os.chown(shared / "user", VICTIM, VICTIM)
    assert as_user(VICTIM, lambda: save("machine code"))
    with pytest.warns(RuntimeWarning, match=f"above it belongs to user {VICTIM}"):
        assert load() is None
    assert vault().path == shared / "root" / "stickslip"
    assert not (shared / "user" / "cache" / vaults._MARK).exists()  # not ours to mark


def sealed(name, code, key):
    """The seal of a file."""
    return hashlib.blake2b(name.encode() + b"\0" + code, key=key, digest_size=20).hexdigest().encode()


def planted(cache, name=NAME, code=FOREIGN_CODE):
    """Foreign code under the right name, with a right seal and the key to it."""
    key = bytes(32)
    (cache / objects.FOLDER).mkdir(parents=True, exist_ok=True)
    for path, content in ((cache / "key", key), (cache / objects.FOLDER / name, code + sealed(name, code, key))):
        path.touch(0o600)
        path.write_bytes(content)


@needs_root
@pytest.mark.parametrize("victim", [0, VICTIM], ids=["root", "user"])
@pytest.mark.parametrize("writer", ["stranger", "stranger, closed again", "victim"])
def test_code_that_another_user_planted_is_never_loaded(shared, monkeypatch, victim, writer):
    """The cache was open for a while; what the victim himself wrote is loaded, so this code would have been."""
    cache, home = shared / "cache", shared / "home"
    for folder in (cache, home):
        folder.mkdir()
        os.chown(folder, victim, victim)
    monkeypatch.setenv("STICKSLIP_CACHE", str(cache))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    cache.chmod(0o700 if writer == "victim" else 0o777)
    assert as_user(victim if writer == "victim" else STRANGER, lambda: planted(cache))
    if writer == "stranger, closed again":
        cache.chmod(0o700)

    def use():
        if writer == "victim":
            assert load() == FOREIGN_CODE.decode()
            return
        with pytest.warns(RuntimeWarning, match="is left alone"):
            assert load() is None
        save("compiled anew")
        assert load() == "compiled anew"

    assert as_user(victim, use)


def test_a_socket_in_place_of_a_file_is_no_file(folder):
    path = file_of(folder)
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(path.parent):
        listener.bind(path.name)
    assert load() is None
