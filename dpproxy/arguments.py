"""Commands as values, and the parser that is made of them."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

Arguments = argparse.Namespace
Option = tuple[tuple[str, ...], dict[str, object]]
"""Arguments of ``add_argument``."""

CONFIG: Option = (
    ("--config",),
    {"metavar": "FILE", "type": Path, "required": True, "help": "the configuration (docs/configuration.md)"},
)
DATABASE: Option = (
    ("--database",),
    {"metavar": "NAME", "help": "the data source, where the configuration has several"},
)
JSON: Option = (("--json",), {"action": "store_true", "help": "print one JSON document"})

EPILOG = "`dpproxy COMMAND --help` shows an example of it. `dpproxy demo` is a tour that needs nothing else."


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand: what it is called, says, takes and does."""

    name: str
    summary: str
    example: str
    options: tuple[Option, ...]
    run: Callable[[Arguments], int]


def build_parser(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """A parser of all commands; a name of two words is a command of a group."""
    parser = argparse.ArgumentParser(
        prog="dpproxy", description="Differential privacy for plain SQL.", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=f"dpproxy {version('dpproxy')}")
    top = parser.add_subparsers(metavar="COMMAND", required=True)
    groups: dict[str, argparse._SubParsersAction[argparse.ArgumentParser]] = {}
    for command in commands:
        group, _, name = command.name.rpartition(" ")
        if group and group not in groups:
            outer = top.add_parser(group, help=_names_in(group, commands))
            groups[group] = outer.add_subparsers(metavar="COMMAND", required=True)
        inner = groups.get(group, top).add_parser(
            name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=f"example:\n  {command.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for names, keywords in command.options:
            inner.add_argument(*names, **keywords)  # type: ignore[arg-type]
        inner.set_defaults(run=command.run)
    return parser


def _names_in(group: str, commands: Sequence[Command]) -> str:
    return ", ".join(c.name.removeprefix(f"{group} ") for c in commands if c.name.startswith(f"{group} "))
