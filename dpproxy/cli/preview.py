"""The errors that analysts will meet under a policy, from declarations alone: before it is in force, and for free."""

import json
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from msgspec.structs import replace

from dpproxy.algebra.plan import Caller
from dpproxy.cli.statements import ADMIN
from dpproxy.config.configuration import Config, check_files, load_config
from dpproxy.engine.engine import Engine
from dpproxy.policy.model import Between, Members, Policy, References
from dpproxy.policy.units import shared, unit_table
from dpproxy.sql.quoting import quoted
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, tell, waiting, width
from dpproxy.terminal.display import answer
from dpproxy.values.errors import Refusal, StartupError

MOST_OF_KIND: Final = 3
"""Questions by listed values, and averages."""
WIDTH: Final = 110
_LEGEND: Final = (
    "error_95: of 100 answers 95 are nearer to the exact one; rows that the policy leaves out are not in it. "
    "per_user, until_ceiling: so many such statements at the default price, of one user, and of all users together "
    "for ever. What follows from an earlier answer is free."
)
NAMES: Final = ("role", "table", "question", "error_95", "epsilon", "per_user", "until_ceiling")


def preview(arguments: Arguments) -> int:
    """``dpproxy preview``: EXPLAIN (PRIVACY) of a few questions, under the configured policy files alone."""
    config = load_config(arguments.config).of(arguments.database)
    check_files(config)
    if not config.policy_files:
        raise StartupError("expected policy files: policy.files names none")
    with waiting("pricing questions"), _apart(config) as engine:
        rows, sharing = list(_rows(engine)), shared(engine.policy)
    if not rows:
        raise StartupError(
            "no protected table is granted to a role: GRANT SELECT ON ... TO ... WITH PRIVACY BUDGET ...;"
        )
    print_result(answer(NAMES, rows, in_json=arguments.json, width=width()))
    if not arguments.json:
        print_result("\n".join(line for words in (_LEGEND, *sharing) for line in wrap(words, WIDTH)))
    return 0


@contextmanager
def _apart(config: Config) -> Iterator[Engine]:
    """An engine with a state of its own, which is removed: nothing that is in force is touched."""
    data = replace(config.data, ledger=None, high_water=None, prepared_schema=None)
    with tempfile.TemporaryDirectory(prefix="dpproxy-") as folder:
        apart = replace(config, root=Path(folder), sources={config.database: data}, begins=False)
        with Engine.start(apart, tell) as engine:
            yield engine


def _rows(engine: Engine) -> Iterator[tuple[object, ...]]:
    policy, caller = engine.policy, Caller("dpproxy", ADMIN, secrets.token_hex(16))
    engine.open(caller)
    for grant in policy.grants:
        if grant.budget is None or grant.table not in policy.tables:
            continue
        limits = _limits(policy, grant.table, grant.budget)
        for words, sql in questions(policy, grant.table):
            told = f"EXPLAIN (PRIVACY, DRAFT, ROLE {quoted(grant.role)}, FORMAT JSON) {sql}"
            try:
                ((document,),) = engine.answer(caller, told).rows
            except Refusal as refusal:
                yield grant.role, grant.table, words, f"refused: {refusal.message}", None, None, None
                continue
            yield grant.role, grant.table, words, *_expected(json.loads(str(document)), limits)


def questions(policy: Policy, table: str) -> Iterator[tuple[str, str]]:
    """A few questions about a table, in words and as statements."""
    name, columns = quoted(table), policy.tables[table].columns
    yield "a count", f"SELECT count(*) FROM {name}"  # noqa: S608 - quoted
    listed = {n: one.domain for n, one in columns.items() if isinstance(one.domain, Members | References)}
    for key, domain in list(listed.items())[:MOST_OF_KIND]:
        many = f", {len(domain.values)} groups" if isinstance(domain, Members) else ""
        yield f"a count by {key}{many}", f"SELECT {quoted(key)}, count(*) FROM {name} GROUP BY 1"  # noqa: S608
    numbers = [
        n
        for n, one in columns.items()
        if isinstance(one.domain, Between) and isinstance(one.domain.low, int | Fraction)
    ]
    for column in numbers[:MOST_OF_KIND]:
        yield f"a sum of {column}", f"SELECT sum({quoted(column)}) FROM {name}"  # noqa: S608 - quoted
        yield f"an average of {column}", f"SELECT avg({quoted(column)}) FROM {name}"  # noqa: S608 - quoted


def _limits(policy: Policy, table: str, budget: str) -> tuple[Fraction | None, Fraction | None]:
    """What one user may spend, and what all may: of the budget and the ceiling, the lesser."""
    paid, ceiling = policy.budgets[budget], unit_table(policy, table).ceiling
    known = [one for one in (paid.limit, None if ceiling is None else ceiling.epsilon) if one is not None]
    return min([*known, *([] if paid.user_limit is None else [paid.user_limit])]), (
        None if ceiling is None else ceiling.epsilon
    )


def _expected(
    document: Mapping[str, Any], limits: tuple[Fraction | None, Fraction | None]
) -> tuple[object, ...]:
    column, epsilon = document["columns"][-1], Fraction(str(document["epsilon"]))
    half, formula = column.get("half_width"), column.get("half_width_formula")
    error = (
        f"+-{half:.4g}"
        if half is not None
        else f"+-{formula}"
        if formula
        else "none: it follows from the policy"
    )
    counts = [int(limit / epsilon) if limit is not None and epsilon else None for limit in limits]
    return (error, float(epsilon), *counts)
