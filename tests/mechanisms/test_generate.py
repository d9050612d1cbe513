"""Generated modules: what goes into them, under which name, and where they are kept."""

import ast
import inspect
import math
import re
import shutil
from pathlib import Path

import pytest

import stickslip as ss
from stickslip import library
from stickslip.jit import syntax
from stickslip.jit.vault import Vault
from stickslip.mechanisms import generate, templates
from stickslip.mechanisms.generate import PARTS, SOLVER_CODES, compiled_module, module_source
from tests.mechanisms.steppers import systems


def source(system, solver="auto"):
    return module_source(system, "stepper", solver)


def test_sizes_and_switches_are_written_as_constants():
    text = source(library.woodpecker().system)
    for line in ("N_DOF = 3", "N_CONTACTS = 3", "N_LCP = 9", "MASS_CONSTANT = True", "DIRECTIONS_CONSTANT = True"):
        assert f"\n{line}\n" in text
    text = source(systems.every_element().system)
    assert "\nMASS_CONSTANT = False\n" in text
    assert "\nKINDS = (2, 0, 0, 1, 3, 0)\n" in text  # friction, two stops, clutch, spring, contact


@pytest.mark.parametrize("solver", SOLVER_CODES)
def test_source_depends_on_the_solver_and_compiles(solver):
    text = source(library.brick_on_ramp().system, solver)
    assert f"\nSOLVER = {SOLVER_CODES[solver]}\n" in text
    compile(text, "generated", "exec")


def test_large_systems_use_the_heap():
    few, many = source(systems.row_of_blocks(3)), source(systems.row_of_blocks(7))
    assert systems.row_of_blocks(7).n_contacts > generate.STACK_LIMIT >= systems.row_of_blocks(3).n_contacts
    assert "heap_array as local_array" in many and "heap_array as local_array" not in few


@pytest.mark.parametrize("template", generate.PARTS)
def test_only_the_model_of_the_template_is_replaced(template):
    """The code of all other parts is taken over word for word, in their order."""
    _, tail = module_source(library.bouncing_ball().system, template, "auto").split("# -- model: end\n")
    for part in generate.PARTS[template][1:]:
        text = (generate._TEMPLATES / f"{part}.py").read_text(encoding="utf-8")
        code = text[re.search(r"^(@|[A-Z_]+ = )", text, re.MULTILINE).start() :]
        assert code in tail
        tail = tail[tail.index(code) + len(code) :]
    assert tail == ""


def test_parts_of_a_template_share_no_name():
    """Joined to one module, a second definition would take the place of the first."""
    for parts in generate.PARTS.values():
        tree = generate.ast.parse(generate.joined(parts))
        names = [node.name for node in tree.body if isinstance(node, generate.ast.FunctionDef)]
        names += [
            name.id
            for node in tree.body
            if isinstance(node, generate.ast.Assign)
            for target in node.targets
            for name in generate.ast.walk(target)
            if isinstance(name, generate.ast.Name)
        ]
        names += [alias.asname or alias.name for node in tree.body if hasattr(node, "module") for alias in node.names]
        assert len(names) == len(set(names)) > 10


def test_file_names_are_plain_whatever_the_system_is_called():
    module = compiled_module(systems.two_feet(), "stepper", "auto")
    assert re.fullmatch(r"stickslip_generated_block_with_two_feet_stepper_auto_[0-9a-f]{20}", module.__name__)


def test_functions_change_the_source():
    def force_1(q, u, t, p):
        return (-1.0 * q[0],)

    def force_2(q, u, t, p):
        return (-2.0 * q[0],)

    one, two, again = (
        source(ss.LagrangianSystem(mass=[[1.0]], force=force, name="s")) for force in (force_1, force_2, force_1)
    )
    assert one == again and one != two


def test_source_is_written_once(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path))
    path = generate._write_once("some_module", "x = 1\n")
    stamp = path.stat().st_mtime_ns
    assert generate._write_once("some_module", "x = 1\n") == path
    assert path.stat().st_mtime_ns == stamp
    assert generate._write_once("some_module", "x = 2\n").read_text() == "x = 2\n"  # a damaged file is replaced
    assert [p.name for p in path.parent.iterdir() if p.suffix == ".tmp"] == []


def test_a_cache_that_cannot_be_had_does_not_stop_a_run(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("STICKSLIP_CACHE", str(blocked))
    path = generate._write_once("some_module", "x = 1\n")
    assert not path.exists()
    text = "def twice(x):\n    return 2 * x\n"
    module = generate.import_generated(library.bouncing_ball().system, text, "kind")
    assert module.twice(3) == 6 and inspect.getsource(module.twice) == text  # the compiler reads it


def test_a_cache_that_vanishes_at_any_moment_costs_compilation_alone(tmp_path, monkeypatch):
    """Deleted behind each file that is written, the text of a module among them, which the translator reads later."""
    here, write, written = tmp_path / "cache", Vault.write, []

    def write_and_lose(self, content, *parts):
        path = write(self, content, *parts)
        written.append(parts[0])
        shutil.rmtree(here)
        return path

    monkeypatch.setenv("STICKSLIP_CACHE", str(here))
    monkeypatch.setattr(Vault, "write", write_and_lose)
    system = ss.LagrangianSystem(mass=[[1.0]], force=lambda q, u, t, p: (-4.0 * q[0],), name="vanishing")
    motion = ss.simulate(system, [1.0], [0.0], dt=1e-3, t_end=1.0)
    assert motion.complete and abs(motion.q[-1, 0] - math.cos(2.0)) < 1e-5
    assert {"modules", "objects"} <= set(written)


def test_a_changed_file_in_the_cache_is_never_executed(tmp_path, monkeypatch):
    """Only the text just generated is executed; a file under its name is replaced."""
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path))
    system = ss.LagrangianSystem(mass=[[1.0]], force=lambda q, u, t, p: (-1.0,), name="honest")
    name = compiled_module(system, "stepper", "auto").__name__
    path = tmp_path / "modules" / f"{name}.py"
    path.write_text("raise SystemExit('executed')")
    del generate.sys.modules[name]
    module = compiled_module(system, "stepper", "auto")
    assert module.N_DOF == 1 and "def march(" in path.read_text()
    assert not list(tmp_path.glob("modules/__pycache__/*"))


@pytest.mark.parametrize("template", PARTS)
def test_names_of_joined_parts_have_one_meaning(template):
    """Parts are joined into one module, where a second import of a name would hide the first."""
    meanings: dict[str, set[str]] = {}
    for part in PARTS[template]:
        text = (Path(templates.__file__).parent / f"{part}.py").read_text(encoding="utf-8")
        home = f"{templates.__name__}.{part}"
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom):
                found = [(alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names]
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                found = [(node.name, f"{home}.{node.name}")]
            elif isinstance(node, ast.Assign):
                names = [x.id for target in node.targets for x in ast.walk(target) if isinstance(x, ast.Name)]
                found = [(name, f"{home}.{name}") for name in names]
            else:
                found = []
            for name, meaning in found:
                meanings.setdefault(name, set()).add(meaning)
    assert len(meanings) > 20
    assert {name: where for name, where in meanings.items() if len(where) > 1} == {}


def test_modules_share_what_the_template_says_and_keep_their_own_lines():
    """A template is parsed and surveyed once in a process; lines of errors are those of each module's own text."""
    first, other = (compiled_module(system, "stepper", "auto") for system in (systems.two_feet(), systems.point_mass()))
    one, two = (syntax.read(module.march.python) for module in (first, other))
    assert one.tree is two.tree and one.function is not two.function and one.before != two.before
    for module in (first, other):
        text = module.__loader__.get_source("").splitlines()
        for name in ("force", "march", "do_step", "active_set"):
            source = syntax.read(getattr(module, name).python)
            line = source.function.__code__.co_firstlineno
            assert text[line - 1].startswith("@") and source.function.__code__.co_filename == module.__file__
            line = source.tree.lineno + source.before
            assert source.place(source.tree) == f"{module.__file__}:{line}: `{text[line - 1]}`"
            assert text[line - 1].startswith(f"def {name}(")
