"""Keys that are not public: which groups are shown is itself drawn, from how many units each has, and costs delta.

A unit touches at most L groups: it is cut to MAX GROUPS of them by the keyed hash, or has no more than MAX ROWS rows.
So without it at most L groups have one unit less, which is what the selection is made for. What is released of the
groups that are shown is another release, with the rest of the loss: given the keys it is as if they were declared.
"""

from collections.abc import Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.accounting.model import format_delta, format_epsilon
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import KeySet, Part
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.keys import GroupKey, inside, of_moments
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import INT64, Typed
from dpproxy.planner.keys import derivation as derived
from dpproxy.planner.keys.public_tables import public_key
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.allocation import Allocation, TooLittle
from dpproxy.planner.release.pricing import Terms
from dpproxy.planner.release.stage import discovered_sql
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.policy.model import Discovered
from dpproxy.sql.quoting import table_text
from dpproxy.values.days import midnight
from dpproxy.values.errors import BoundsMissing, Refusal, Unsupported
from dpproxy.values.pgtypes import DATE, INTEGERS, TEXT, TEXTS, TIMESTAMP
from udfs.mechanisms.selection import LEAST_SHARE, Selection
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss

LONGEST_KEY = 255
"""Characters of a discovered text; a longer one is as if it were NULL, and NULL is no key."""
MOST_SHOWN = 1_000_000
"""Groups of an answer, counted once they are released."""
PLANNED = 10_000
"""Groups that an answer is planned for: how many there will be nobody knows before they are released."""
_FIRST, _LAST = date(1, 1, 1), date(9999, 12, 31)


def key_of(
    node: exp.Expr, rows: JoinedRows, planning: Planning, at: int | None, conditions: Sequence[exp.Expr] = ()
) -> GroupKey:
    """The declared values of a key; whatever the data holds where they do not follow and a column is DISCOVERED.

    Raises a ``Refusal``.
    """
    try:
        return derived.key_of(node, rows, planning, at, conditions)
    except (BoundsMissing, Unsupported):
        if not any(is_discovered(column, rows) for column in node.find_all(exp.Column)):
            raise
    return unlisted(node, rows, planning, at)


def is_discovered(node: exp.Column, rows: JoinedRows) -> bool:
    """Whether it is a column of which nobody listed the values."""
    found = list(rows.candidates(node))
    return len(found) == 1 and isinstance(getattr(found[0][1], "domain", None), Discovered)


def unlisted(node: exp.Expr, rows: JoinedRows, planning: Planning, at: int | None) -> GroupKey:
    """A key of whatever the rows hold, inside the bounds that follow from the policy. Raises a ``Refusal``."""
    if (public := public_key(node, rows)) is not None:
        return of_moments(public[1])
    if type(node) is exp.Column:
        return _column(node, rows, at)

    def leaf(inner: exp.Expr) -> Typed | None:
        if type(inner) is not exp.Column or not is_discovered(inner, rows):
            return rows.leaf(inner)
        typed, raw, inside = _limited(inner, rows)
        # Bounded in its own place: the engine may compute an expression before it filters rows.
        held = typed.sql if inside is None else nodes.Paren(duck.case([(inside, raw)], None))
        return replace(typed, sql=held, nullable=True)

    typed = compile_expression(node, replace(rows.scope(planning.parameters), leaf=leaf))
    return _key(duck.words(node).lower(), typed, None, at)


def _column(node: exp.Column, rows: JoinedRows, at: int | None) -> GroupKey:
    typed, raw, inside = _limited(node, rows)
    key = _key(node.name, typed if inside is None else replace(typed, sql=raw), inside, at)
    if not rows.field(node).may_miss:
        return key
    # Rows that an outer join has no partner for are a group.
    inside_or_none = nodes.Paren(nodes.Or((nodes.IsNull(raw), nodes.Paren(key.present or nodes.TRUE))))
    return replace(key, present=inside_or_none)


def _key(name: str, typed: Typed, inside: nodes.Expr | None, at: int | None) -> GroupKey:
    if typed.is_number and typed.scale is None:
        raise BoundsMissing(
            "a floating-point number is no key",
            hint="Group by a text, a date or a whole number, such as floor(x).",
            position=at,
        )
    if typed.is_number:
        held = _small(typed) if typed.type.oid in INTEGERS else duck.cast(typed.sql, "HUGEINT")
        typed = replace(typed, sql=held)
    if typed.type.oid in TEXTS:
        typed = replace(typed, type=TEXT)
    present = inside or nodes.Not(nodes.IsNull(typed.sql))
    return GroupKey(name, typed, typed.sql, (), present)


def among(listed: GroupKey, at: int | None) -> GroupKey:
    """A key with a list of which whatever the rows hold is shown, and nothing beside the list."""
    found = _key(listed.name, replace(listed.typed, sql=listed.raw), inside(listed), at)
    return replace(found, in_utc=listed.in_utc)


def _small(typed: Typed) -> nodes.Expr:
    """A whole number as BIGINT. One that is none is no key: -(-2^63) would fail the statement of whoever asks."""
    raw = duck.cast(typed.sql, "BIGINT")
    if typed.low is not None and typed.high is not None and typed.low >= -INT64 - 1 and typed.high <= INT64:
        return raw
    wide = duck.cast(typed.sql, "HUGEINT")
    inside = nodes.And(
        (nodes.Binary(">=", wide, duck.integer(-INT64)), nodes.Binary("<=", wide, duck.integer(INT64)))
    )
    return nodes.Paren(duck.case([(inside, raw)], None))


def _limited(node: exp.Column, rows: JoinedRows) -> tuple[Typed, nodes.Expr, nodes.Expr | None]:
    """A discovered column with public bounds, what holds it, and where it is inside them; None for no condition."""
    field = rows.field(node)
    typed, raw = field.read(node), duck.column(field.column.name)
    domain = getattr(field, "domain", None)
    if domain is not None and not isinstance(domain, Discovered):
        if typed.opaque:
            raise BoundsMissing(
                f"the declared values of {node.name} are too many to look for keys among them",
                hint=f"List the keys with {node.name} IN.",
                position=position(node),
            )
        return typed, typed.sql, None
    if typed.type.oid in TEXTS:
        short = nodes.Binary("<=", duck.call("length", raw), duck.integer(LONGEST_KEY))
        return replace(typed, longest=LONGEST_KEY, opaque=False), raw, short
    if typed.type.oid not in (DATE.oid, TIMESTAMP.oid):
        return typed, raw, None
    first, last = (_FIRST, _LAST) if typed.type.oid == DATE.oid else (midnight(_FIRST), midnight(_LAST))
    inside = nodes.And(
        (nodes.Binary(">=", raw, duck.constant(first)), nodes.Binary("<=", raw, duck.constant(last)))
    )
    return replace(typed, first=first, last=last, opaque=False), raw, nodes.Paren(inside)


def discovered_set(keys: Sequence[GroupKey]) -> KeySet:
    """All keys of a grouping set of which one is discovered: every combination is."""
    return KeySet(tuple(k.typed.type for k in keys), (), discovered=True)


class Choice(Struct, frozen=True):
    """How groups are selected, whatever that costs."""

    name: str
    """The key that is not public."""
    groups: int
    """The most that a unit is in."""
    cut: int | None
    """The groups that a unit is cut to; None where it cannot be in more."""
    units: nodes.Expr
    """The column that counts the units of a group."""
    at: int | None

    def selection(self, terms: Terms, rows: JoinedRows, planning: Planning, *, alone: bool) -> Selection:
        """The selection of a part: half of its loss, all of it where only keys are asked for.

        Errors: ``BoundsMissing`` (PD003) without a delta; ``TooLittle`` (22023) for too little epsilon or delta.
        """
        if not terms.delta:
            raise _no_delta(self.name, rows, planning, self.at)
        parts = 1 if alone else 2
        try:
            return Selection(self.groups, terms.loss.nano // parts, terms.delta)
        except InvalidMechanism as error:
            raise TooLittle(
                terms.loss,
                Loss(max(LEAST_NANO, LEAST_SHARE * self.groups) * parts),
                f"to find keys of {self.groups} groups of one privacy unit: {error}",
                "have an administrator lower MAX GROUPS",
                beside=f" with delta {format_delta(terms.delta)}",
                position=self.at,
            ) from None


def choice(keys: Sequence[GroupKey], rows: JoinedRows, at: int | None) -> Choice:
    """How the groups of a part are selected, of which a key is not public."""
    cut = rows.groups if rows.unit is not None and rows.groups < rows.most else None
    name = next(k.name for k in keys if k.is_discovered)
    return Choice(name, rows.most if cut is None else cut, cut, _units(rows), at)


def _no_delta(name: str, rows: JoinedRows, planning: Planning, at: int | None) -> BoundsMissing:
    owner = planning.context.policy.tables[rows.owner]
    most = "10" if owner.ceiling is None else format_epsilon(int(owner.ceiling.epsilon * NANO))
    ceiling = f"ALTER TABLE {table_text(owner.name)} SET PRIVACY CEILING EPSILON {most} DELTA 0.00001;"
    asked = table_text(planning.first(rows.scans[0].table))
    return BoundsMissing(
        f"the keys of {name} are not public: to show those that enough people share costs delta, and there is none",
        detail="dp.delta is 0, or is not set and the budget has no DELTA. Declared keys cost none.",
        hint=f"SELECT count(*) FROM {asked}; or list keys with {name} IN. "  # noqa: S608 - a hint
        f"An administrator declares a delta: {ceiling} and one of the budget. "
        "Or the keys of each column with DOMAIN IN.",
        position=at,
    )


def _units(rows: JoinedRows) -> nodes.Expr:
    """How many units a group has: of which no unit is more than one, and 0 only where there is no row.

    Where a row is the unit and joins may repeat it, as many rows as one can become are one unit.
    """
    count = duck.call("count", nodes.Star())
    if rows.most == 1:
        return count
    if rows.unit is None:
        lifted = duck.binary("+", count, duck.integer(rows.most - 1))
        return nodes.Binary("//", lifted, duck.integer(rows.most))
    return nodes.Call("count", (rows.unit,), distinct=True)


def selecting(part: Part, keys: int, selection: Selection, allocation: Allocation | None) -> Part:
    """A part that selects its groups before it releases them."""
    box = f"selection groups={selection.groups} delta={selection.delta}"
    return replace(
        part,
        release=discovered_sql(keys, part.measures, allocation),
        box=f"{box}; {part.box}",
        noise=f"{box} nano={selection.nano}; {part.noise or 'keys only'}",
        selection=selection,
        most=MOST_SHOWN,
    )


def refuse_order(statistic: str, at: int | None) -> Refusal:
    """Percentiles and the like are drawn for declared keys only."""
    return Unsupported(
        f"{statistic} is not answered beside keys that are not public",
        hint="Group by declared keys, or ask for count, sum, avg or stddev.",
        position=at,
    )
