"""The package as a whole: version, public names, what an import loads, what the repository contains."""

import ast
import importlib
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stickslip

ROOT = Path(__file__).parent.parent
PACKAGE = Path(stickslip.__file__).parent


def test_version_is_the_installed_one():
    assert stickslip.__version__ == importlib.metadata.version("stickslip")


def test_citation_names_the_version():
    assert f"\nversion: {stickslip.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def names_for_type_checkers():
    """Public names of `__init__.pyi` as its syntax has them, which is what type checkers and editors see."""
    found = {}
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            (alias,) = node.names
            assert alias.asname is not None, "a stub hides names that are imported without `as`"
            assert alias.asname == alias.name, "a stub hides names that are imported under another one"
            found[alias.name] = (node.module, alias.name)
        elif isinstance(node, ast.Assign):
            (target,) = node.targets
            found[target.id] = found[node.value.id]
    return found


def test_the_one_list_of_public_names_is_what_type_checkers_see():
    assert names_for_type_checkers() == stickslip._HOME
    assert set(stickslip.__all__) == set(stickslip._HOME) <= set(dir(stickslip))
    assert len(stickslip.__all__) > 90


@pytest.mark.parametrize("name", stickslip.__all__)
def test_public_name_resolves(name):
    value = getattr(stickslip, name)
    assert getattr(stickslip, name) is value
    module, own = stickslip._HOME[name]
    assert value is getattr(importlib.import_module(module), own)


@pytest.mark.parametrize("name", ["steppers", "solvers", "shapes", "laws", "contact", "lcp"])
def test_namespaces_hold_the_names_at_the_top(name):
    """A name in a namespace and at the top of the package is one object."""
    namespace = getattr(stickslip, name)
    shared = [each for each in getattr(namespace, "__all__", dir(namespace)) if each in stickslip._HOME]
    assert len(shared) >= 4
    assert all(getattr(namespace, each) is getattr(stickslip, each) for each in shared)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'solve_everything'"):
        _ = stickslip.solve_everything


def loaded_after(statement):
    """Top-level modules in a fresh interpreter after `statement`."""
    program = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_stays_light():
    loaded = loaded_after("import stickslip")
    assert "stickslip" in loaded
    assert not loaded & {
        "matplotlib",
        "dask",
        "distributed",
        "h5py",
        "sympy",
        "xarray",
        "scipy",
        "numba",
        "numpy",
    }


def test_command_line_starts_without_numerics():
    assert not loaded_after("import stickslip.cli") & {"matplotlib", "sympy", "numba", "numpy", "scipy"}


def test_solving_an_lcp_does_not_load_plots_or_files():
    assert not loaded_after("from stickslip import solve_lcp") & {
        "matplotlib",
        "dask",
        "h5py",
        "sympy",
        "xarray",
    }


def test_type_information_is_shipped():
    assert (PACKAGE / "py.typed").is_file()


def repository_files():
    """Text files that git tracks or would track."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in files if path.is_file() and b"\0" not in path.read_bytes()]


def test_repository_names_no_folder_of_one_machine():
    machine_path = re.compile(r"(?<![\w.~])/(root|work|home|Users)/\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in repository_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if machine_path.search(line)
    ]
    assert not found


def test_constraints_are_exact_pins_from_no_particular_index():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9-]+==[0-9][a-z0-9.]*", line)] == []


def test_tests_have_the_folders_of_the_package():
    """A room is tested in the folder of its name; the folders fuzz and examples test things outside the package."""
    inside = {str(file.parent.relative_to(PACKAGE)) for file in PACKAGE.rglob("*.py")}
    tested = {str(file.parent.relative_to(ROOT / "tests")) for file in (ROOT / "tests").rglob("test_*.py")}
    assert tested - inside == {"examples", "fuzz"}


def test_the_map_of_the_rooms_is_that_of_the_sources():
    done = subprocess.run([sys.executable, ROOT / "tools" / "house_map.py", "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
