"""Options of commands are declared once: an option has one help text in all commands."""

import inspect
import re
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from stickslip import cli
from stickslip.cli import pages
from stickslip.cli.options import Dt, grouped
from stickslip.io.models import layout_parts
from stickslip.laws import NAMED_LAWS
from stickslip.run.options import STEPPERS

SHARED = ("--set", "--dt", "--section", "--stepper", "--solver", "--rtol", "--plot", "--json", "--quiet", "--device")
OTHERWISE = {
    ("--set", "impact-map"), ("--set", "compare-laws"),  # quantities of a collision, not parameters of a system
    ("--dt", "limit-cycle"), ("--dt", "converge"),  # of the fine map; the coarsest one
    ("--stepper", "limit-cycle"), ("--rtol", "run"), ("--device", "sweep"), ("--plot", "bench"),
}  # fmt: skip


def options():
    """Command, option and help of every option of every command."""
    group = typer.main.get_command(cli.app)
    commands = dict(group.commands) | {"friction solve": group.commands["friction"].commands["solve"]}
    for name, command in commands.items():
        for parameter in command.params:
            for word in parameter.opts:
                yield name, word, getattr(parameter, "help", None)


@pytest.mark.parametrize("option", SHARED)
def test_an_option_has_one_meaning(option):
    helps = {text for name, word, text in options() if word == option and (option, name) not in OTHERWISE}
    assert len(helps) == 1


def test_help_pages_and_model_files_know_the_names_of_laws_and_steppers():
    """Help pages and model files repeat the names, so that they need not load the laws and steppers themselves."""
    helps = {word: text for name, word, text in options() if name == "run"}
    for option, names, keys in (
        ("--law", NAMED_LAWS, layout_parts.IMPACT_LAWS),
        ("--stepper", STEPPERS, layout_parts.STEPPERS),
    ):
        assert tuple(names) == keys
        assert re.findall(r"[a-z]+(?:-[a-z]+)*", helps[option].split(": ")[-1].replace(" or ", ", ")) == list(names)


def test_every_option_and_argument_has_help():
    assert [(name, word) for name, word, text in options() if not text and word != "--help"] == []


@dataclass(frozen=True)
class Pair:
    """Two options."""

    dt: Dt = None
    count: Annotated[int, typer.Option(help="How many.")] = 3


def test_groups_are_options_for_typer_and_objects_for_the_command():
    got = []

    @grouped
    def command(name: str, *, pair: Pair, loud: bool = False) -> None:
        got.append((name, pair, loud))

    assert list(inspect.signature(command).parameters) == ["name", "dt", "count", "loud"]
    command(name="x", dt=0.1, count=5, loud=True)
    assert got == [("x", Pair(0.1, 5), True)]


def test_no_command_function_takes_more_than_sixteen_arguments():
    for function in cli._COMMANDS.values():
        assert len(inspect.signature(inspect.unwrap(function)).parameters) <= 16


def test_help_pages_show_groups_examples_and_flags_without_a_type(run):
    code, out, err = run("run", "--help")
    assert (code, err) == (0, "")
    assert out.index("Options") < out.index("Files") < out.index("What is printed") < out.index("Examples:")
    assert "bool" not in out and "stickslip run woodpecker --set friction=0.25" in out
    assert "Ask many motions" in run("--help")[1] and "bool" not in run("sweep", "--help")[1]


def test_every_command_stands_in_a_group_and_has_an_example():
    grouped_names = [name for names in pages.GROUPS.values() for name in names]
    assert sorted(grouped_names) == sorted([*cli._COMMANDS, "friction"]) == sorted(pages.EXAMPLES)
    assert all(line.startswith(f"stickslip {name}") for name, lines in pages.EXAMPLES.items() for line in lines)
