"""What a release is about, in words that are kept: the ledger, refusals and notices have them."""

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.keys import GroupKey
from dpproxy.planner.keys.grouping import Keys
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.relation import EARLIER, JoinedRows

UNITS = frozenset(
    "decade year quarter month week day hour minute second epoch dow doy isodow isoyear".split()  # noqa: SIM905 - a table
)
"""Texts that are words of the language."""
_QUOTED = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)"(\.)?""")
OTHER = "public rows"
"""What stands in FROM under no name of the policy."""


def label(aggregates: Sequence[exp.Expr], keys: Keys, rows: JoinedRows, planning: Planning) -> str:
    """Aggregates, keys and tables; texts, which may name a person, and names that the analyst made up are left out."""
    policy = planning.context.policy
    known = policy.tables.keys() | policy.views.keys()
    spoken = {s.alias.lower(): f"{s.table}." for s in rows.scans if len(rows.scans) > 1 and s.table in known}
    calls = ", ".join(_words(duck.words(n).lower(), spoken) for n in aggregates)
    listed = sorted(keys.by_node.items(), key=lambda entry: entry[1][0])
    names = ", ".join(_words(_named(n, k), spoken) for n, (_, k) in listed)
    tables = ", ".join(
        dict.fromkeys(name if name in known or name is EARLIER else OTHER for name in rows.sources)
    )
    return f"{calls or 'keys'}{f' by {names}' if names else ''} on {tables}"


def _named(node: exp.Expr, key: GroupKey) -> str:
    """A key without the subqueries in it, whose names may be made up."""
    if node.find(exp.Query) is not None:
        return duck.outline(node).lower()
    return (duck.written_as(node) or "").lower() or key.name


def _words(text: str, spoken: Mapping[str, str]) -> str:
    r"""An expression without the texts in it, and with tables in place of their aliases, where there are several.

    >>> _words("sum(case when name = 'x''y' then 1 end) by date_trunc('month', \"day's\")", {})
    'sum(case when name = \'...\' then 1 end) by date_trunc(\'month\', "day\'s")'
    >>> _words('avg("v".cost) by "a b".age', {"v": "visits."})
    'avg(visits.cost) by age'
    """

    def word(found: re.Match[str]) -> str:
        if found[3]:
            return spoken.get(found[2].lower(), "")
        return "'...'" if found[1] is not None and found[1] not in UNITS else found[0]

    return _QUOTED.sub(word, text)


def unit_words(rows: JoinedRows, planning: Planning) -> str:
    """The privacy unit, and the most that is read of one."""
    if rows.unit is None:
        return f"one row of {rows.owner}" + (f", at most {rows.most} times" if rows.most > 1 else "")
    if rows.present and isinstance(rows.unit, nodes.ColumnRef):
        return f"one {rows.unit.name} of {rows.tables}, at most {_rows(rows.most)}"
    owner = planning.context.policy.tables[rows.owner].unit
    key = owner.key if owner is not None else ""
    return f"one {key} of {rows.owner}, at most {_rows(rows.most)} of {rows.tables}"


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"
