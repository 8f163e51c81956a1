"""What each kind of record checks. A body that differs raises ``Different``; the item decides what follows."""

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpproxy.accounting.model import Account, format_epsilon
from dpproxy.algebra import printing
from dpproxy.algebra.plan import Caller, Part, Plan, PublicPlan
from dpproxy.algebra.request import Request
from dpproxy.config.configuration import Config, Data
from dpproxy.config.settings import DEFAULTS, normalise
from dpproxy.engine import output
from dpproxy.engine.engine import Engine
from dpproxy.planner.explain import split_explain
from dpproxy.policy.parser import is_privacy_statement
from dpproxy.policy.store import change_of
from dpproxy.values.errors import Refusal
from tests.empty import database
from tests.golden.neighbours import furthest
from tests.golden.records import Record, caret
from tests.golden.world import Tables, World, plan_any, plan_of, release
from udfs.privacy import NANO


@dataclass
class Different(Exception):
    """The body is not what the product says now."""

    expected: tuple[str, ...]
    actual: list[str]

    def __str__(self) -> str:
        return "\n".join([*(f"- {line}" for line in self.expected), *(f"+ {line}" for line in self.actual)])


def _same(record: Record, actual: list[str]) -> None:
    if list(record.body) != actual:
        raise Different(record.body, actual)


def _text(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _line(row: tuple[object, ...]) -> str:
    return " | ".join(map(_text, row))


def _epsilon(nano: int) -> str:
    return f"{nano / NANO:.9g}"


def plan(world: World, record: Record) -> None:
    """The stages, the noise and the loss."""
    made = plan_of(world, record.statement, record.options)
    lines = [line for index, part in enumerate(made.parts) for line in _part(index, part)]
    _same(record, [*lines, f"answer  {made.answer}", f"loss    {_epsilon(made.loss.nano)}"])


def _numbers(numbers: list[int]) -> str:
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"${numbers[0]}" + (f" to ${numbers[-1]}" if len(numbers) > 1 else "")


def _part(index: int, part: Part) -> list[str]:
    taken = {i.query: [j.number for j in part.inputs if j.query == i.query] for i in part.inputs}
    inputs = [f"{_numbers(numbers)}      {printing.text(query)}" for query, numbers in taken.items()]
    noise = part.mechanism
    words = "none" if part.vacuous else part.noise
    if noise is not None and not part.vacuous:
        words = f"widths {' '.join(map(str, noise.widths))}, epsilon {_epsilon(noise.nano)}, {part.factor} boxes a unit"
    keys = f"groups  {part.groups}"
    if part.selection is not None:
        chosen = part.selection
        keys = f"keys    from {chosen.threshold} units on, epsilon {_epsilon(chosen.nano)}, delta {chosen.delta}, "
        keys += f"{chosen.groups} groups a unit"
    return [f"r{index}      {part.exact}", *inputs, keys, f"noise   {words}"]


def exact(world: World, record: Record) -> None:
    """The exact measures of every key, part by part."""
    made = plan_of(world, record.statement, record.options)
    tables = Tables(world)
    tables.fill(world.rows)
    lines = []
    for index, (part, released) in enumerate(tables.relations(made)):
        lines += [f"r{index}"] if len(made.parts) > 1 else []
        for row in released.value.drop_columns(["o"]).to_pylist():
            *key, measures = row.values()
            lines.append(f"{_line(tuple(key))} => {_line(tuple(map(int, measures)))}".lstrip())
        assert part.measures == 0 or lines
    tables.close()
    _same(record, lines)


def _answer(world: World, made: Plan) -> list[tuple[object, ...]]:
    """The answer stage over the exact measures, as if the noise were zero."""
    tables = Tables(world)
    tables.fill(world.rows)
    try:
        publics = [tables.table(printing.text(query)) for query in made.publics]
        return output.convert(made.outputs, release().answer(made, tables.relations(made), publics))
    finally:
        tables.close()


def answer(world: World, record: Record) -> None:
    """What the analyst would see without noise: names and types, then rows."""
    made = plan_any(world, record.statement, record.options)
    head = " | ".join(f"{o.column.name} {o.column.type.name}" for o in made.outputs)
    rows: list[tuple[object, ...]] = []
    if isinstance(made, PublicPlan):
        rows = _public(world, made)
    elif not made.empty:
        rows = _answer(world, made)
    _same(record, [head, *map(_line, rows)])


def _public(world: World, made: PublicPlan) -> list[tuple[object, ...]]:
    """The rows of public tables."""
    tables = Tables(world)
    tables.fill(world.rows)
    try:
        columns = tables.table(printing.text(made.query)).columns
        return output.convert(made.outputs, list(zip(*(c.to_pylist() for c in columns), strict=True)))
    finally:
        tables.close()


def neighbours(world: World, record: Record) -> None:
    """No unit moves the exact measures further than the loss pays for; some move as far as the record says."""
    made = plan_of(world, record.statement, record.options)
    tables = Tables(world)
    most = furthest(world, made, tables)
    tables.close()
    expected = [int(n) for n in record.options["most"].split(",")]
    assert most == expected, f"a unit moves the parts by {most} boxes"


def error(world: World, record: Record) -> None:
    """SQLSTATE, message, place, detail and hint; a statement in the hint is one that passes."""
    try:
        explain = split_explain(record.statement)
        made = plan_any(world, record.statement if explain is None else explain.sql, record.options)
        if isinstance(made, Plan):
            _answer(world, made)
    except Refusal as refusal:
        said = refusal
    else:
        raise AssertionError("the statement is answered")
    told = {"detail": said.detail, "hint": said.hint}
    actual = [f"{said.sqlstate} {said.message}", *(f"{k}: {v}" for k, v in told.items() if v)]
    expected = [record.words, *(f"{k}: {v}" for k, v in record.told.items())]
    if (actual, said.position) != (expected, caret(record)):
        raise Different((*expected, f"at {caret(record)}"), [*actual, f"at {said.position}"])
    if said.hint:
        check_hint(world, said.hint, record)


def check_hint(world: World, hint: str, record: Record | None = None) -> None:
    """Every statement in a hint passes, after a SET the record's own."""
    for statement in re.findall(
        r"((?:(?:SELECT|WITH)\b[^;:]* FROM|EXPLAIN|SET|ALTER TABLE|GRANT|CREATE PRIVACY)\b[^;:]*);", hint
    ):
        if is_privacy_statement(statement):
            change_of(statement)
        elif statement.startswith("SET "):
            name, value = statement[4:].split(" = ")
            normalise(name, value.strip("'"), DEFAULTS)
            if record is not None:
                plan_any(world, record.statement, {**record.options, name: value.strip("'")})
        else:
            explain = split_explain(statement)
            plan_any(world, statement if explain is None else explain.sql)


def charge(world: World, record: Record) -> None:
    """A script of ``user: statement`` lines through the engine, and what each one debits."""
    with tempfile.TemporaryDirectory() as folder:
        engine = _engine(world, Path(folder))
        with engine:
            lines = [_charged(engine, record, line) for line in record.statement.split("\n")]
    _same(record, lines)


def _charged(engine: Engine, record: Record, line: str) -> str:
    user, sql = line.split(": ", 1)
    caller = Caller(user, frozenset({"admin" if user == "admin" else "analyst"}), f"session of {user}")
    settings = {**DEFAULTS, **record.options}
    before = _spent(engine, caller)
    said = ""
    engine.open(caller)
    try:
        engine.run(Request(caller, engine.prepare(caller, sql, (), settings), (), settings))
    except Refusal as refusal:
        said = f"{refusal.sqlstate} {refusal.message}"
    moved = {name: spent - before[name] for name, spent in _spent(engine, caller).items()}
    words = [said] if said else []
    words += [f"{name} {format_epsilon(cost)}" for name, cost in moved.items() if cost]
    return f"{user}: {', '.join(words) or 'nothing'}"


def _spent(engine: Engine, caller: Caller) -> dict[str, int]:
    """What a caller's accounts have paid, of a session over all budgets."""
    ledger, budgets = engine._ledger, engine.policy.budgets
    sessions = [Account.session(caller.session, name) for name in budgets]
    found = {"session": sum(ledger.spent(account) for account in sessions)}
    for name in budgets:
        found[f"user of {name}"] = ledger.spent(Account.user(name, caller.user))
        found[f"budget {name}"] = ledger.spent(Account.budget(name))
    ceilings = [n for n, t in engine.policy.tables.items() if t.ceiling is not None]
    return found | {f"ceiling {n}": ledger.spent(Account.ceiling(n)) for n in ceilings}


def _engine(world: World, folder: Path) -> Engine:
    data, policy = folder / "data.duckdb", folder / "policy.sql"
    with database(data) as connection:
        for statement in world.ddl:
            connection.execute(statement)
        for name, rows in world.rows.items():
            for row in rows:
                connection.execute(f'INSERT INTO "{name}" VALUES ({", ".join("?" for _ in row)})', row)
    policy.write_text("".join(f"{s};\n" for s in world.policy_ddl), encoding="utf-8")
    source = {"main": Data(data, policy_files=(policy,))}
    config = Config(
        folder / "dpproxy.toml", "localhost", 0, 0.0, None, None, 4, 1.0, 30.0, 1, folder / "state", source, ("main",),
        folder / "users", 1, None,
    )  # fmt: skip
    return Engine.start(config, lambda _: None)


RUN: dict[str, Callable[[World, Record], None]] = {
    "plan": plan,
    "exact": exact,
    "answer": answer,
    "neighbours": neighbours,
    "error": error,
    "charge": charge,
}
