"""The type of an expression from the types of its parts, by PostgreSQL's rules (parse_coerce.c, pg_operator, pg_proc).

None means that the type is unknown here, and follows from the engine's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations

from sqlglot import exp

from dpproxy.aggregates.average import mean_type
from dpproxy.aggregates.sum import sum_type
from dpproxy.analysis import spans
from dpproxy.analysis.arithmetic import common_type
from dpproxy.analysis.titles import function_name, written_name
from dpproxy.pgcatalog.compiler import casts
from dpproxy.pgcatalog.compiler.table_functions import Places
from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.table import PROCEDURE
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import (
    BOOL,
    BPCHAR,
    BY_OID,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    FLOATS,
    INET,
    INT2,
    INT4,
    INT8,
    INTEGERS,
    INTERVAL,
    JSONB,
    NAME,
    NUMERIC,
    OBJECTS,
    OID,
    REGCLASS,
    REGPROC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    VARCHAR,
    SqlType,
    array_of,
    element_of,
)

KnownType = SqlType | None
_NUMBERS = (INT2, INT4, INT8, NUMERIC, FLOAT4, FLOAT8)
"""Numeric types, each of which converts implicitly to the later ones."""
_RANKS = {kind.oid: rank for rank, kind in enumerate(_NUMBERS)}
_TEXTS = (VARCHAR, BPCHAR, NAME)
_MOMENTS = (TIMESTAMP.oid, TIMESTAMPTZ.oid)
_ZONED = {TIMESTAMP.oid: TIMESTAMPTZ, TIMESTAMPTZ.oid: TIMESTAMP}
"""The result type of AT TIME ZONE."""
_REALS = INTEGERS | FLOATS
"""Types whose power is computed in double precision."""


def plain(kind: KnownType) -> KnownType:
    """The type without its modifier, which only columns and casts have."""
    if kind is None or kind.modifier < 0:
        return kind
    return SqlType(kind.name, kind.oid, kind.size, style=kind.style)


def common(kinds: Sequence[KnownType]) -> KnownType:
    """The common type of the parts of CASE, COALESCE, UNION, ARRAY and VALUES (select_common_type)."""
    found = [plain(kind) for kind in kinds if kind is None or kind.oid != UNKNOWN.oid]
    if not found:
        return TEXT
    if any(kind is None for kind in found):
        return None
    kept = found[0]
    for kind in found[1:]:
        if kind == kept or kind is None or kept is None:
            continue
        kept = _wider(kept, kind)
    return kept


def _wider(kept: SqlType, kind: SqlType) -> KnownType:
    ranks = _RANKS.get(kept.oid), _RANKS.get(kind.oid)
    if ranks[0] is not None and ranks[1] is not None:
        return kept if ranks[0] >= ranks[1] else kind
    for wide, others in (
        (TEXT, _TEXTS),
        (TIMESTAMP, (DATE,)),
        (TIMESTAMPTZ, (DATE, TIMESTAMP)),
        (OID, (INT4,)),
    ):
        both = {kept.oid, kind.oid}
        if wide.oid in both and both - {wide.oid} <= {other.oid for other in others}:
            return wide
    return None


def arithmetic(left: KnownType, right: KnownType) -> KnownType:
    """The type of ``+ - * / %`` over numbers."""
    if left is None or right is None:
        return None
    if UNKNOWN.oid in (left.oid, right.oid):
        left, right = (right, right) if left.oid == UNKNOWN.oid else (left, left)
    return common_type(left, right) if left.oid in _RANKS and right.oid in _RANKS else None


_LATER = {
    **spans.SUMS,
    (TIMESTAMPTZ.oid, INTERVAL.oid): TIMESTAMPTZ,
    **{(DATE.oid, whole): DATE for whole in INTEGERS},
}
_APART = {
    **_LATER,
    **spans.DIFFERENCES,
    (DATE.oid, DATE.oid): INT4,
    **dict.fromkeys(permutations((DATE.oid, *_MOMENTS), 2), INTERVAL),
}


def sum_kind(left: KnownType, right: KnownType) -> KnownType:
    """The type of ``+`` with dates and timestamps, else of numbers."""
    pair = _oid(left), _oid(right)
    return _LATER.get(pair) or _LATER.get(pair[::-1]) or arithmetic(left, right)


def difference_kind(left: KnownType, right: KnownType) -> KnownType:
    """The type of ``-``."""
    return _APART.get((_oid(left), _oid(right))) or arithmetic(left, right)


def _oid(kind: KnownType) -> int:
    return 0 if kind is None else kind.oid


def _multiplied(left: KnownType, right: KnownType) -> KnownType:
    return INTERVAL if INTERVAL.oid in (_oid(left), _oid(right)) else arithmetic(left, right)


def _concatenation_kind(left: KnownType, right: KnownType) -> KnownType:
    """The type of ``||``."""
    if left is None or right is None:
        return None
    for kind in (left, right):
        if element_of(kind) is not None or kind.oid in (JSONB.oid, BYTEA.oid):
            return plain(kind)
    return TEXT


Rule = Callable[[exp.Expr, Sequence[KnownType]], KnownType]
"""From a node and the types of its parts, in the order of ``iter_expressions``, to its type."""


def _unless_told(node: exp.Expr, _parts: Sequence[KnownType]) -> KnownType:
    """The type of a constant, unknown unless it is a parameter with a declared type."""
    return kind_of(node) or UNKNOWN


def _literal(node: exp.Expr, _parts: Sequence[KnownType]) -> KnownType:
    if node.args.get("is_string"):
        return _unless_told(node, _parts)
    if not str(node.this).isdigit():
        return NUMERIC
    value = int(node.this)
    return INT4 if value < 1 << 31 else INT8 if value < 1 << 63 else NUMERIC


def _negative(node: exp.Expr, parts: Sequence[KnownType]) -> KnownType:
    if isinstance(node.this, exp.Literal) and node.this.name.isdigit():
        value = int(node.this.name)
        return INT4 if value <= 1 << 31 else INT8 if value <= 1 << 63 else NUMERIC
    return plain(parts[0])


def _cast(node: exp.Expr, parts: Sequence[KnownType]) -> KnownType:
    if not isinstance(node, exp.Cast):
        return None
    try:
        named = parts[0] == PROCEDURE and written_name(node.to) == REGPROC.name
        return PROCEDURE if named else casts.named(node.to)
    except Refusal:
        return None  # the cast itself is refused, where it is translated


def _element(node: exp.Expr, parts: Sequence[KnownType]) -> KnownType:
    array = parts[0]
    if array is None or any(isinstance(index, exp.Slice) for index in node.expressions):
        return plain(array)
    element = element_of(array)
    return plain(element)


def _array(_node: exp.Expr, parts: Sequence[KnownType]) -> KnownType:
    one = common(parts) if parts else None
    return None if one is None else one if element_of(one) is not None else array_of(one)


def _extreme(_node: exp.Expr, parts: Sequence[KnownType]) -> KnownType:
    kind = plain(parts[0])
    if kind is not None and kind.oid in (NAME.oid, VARCHAR.oid, UNKNOWN.oid):
        return TEXT
    return OID if kind is not None and kind.name.startswith("reg") else kind


_SUMS = {kind.oid: sum_type(kind) for kind in _NUMBERS}
_MEANS = {kind.oid: mean_type(kind) for kind in _NUMBERS}
_WHOLE = {kind.oid: NUMERIC if kind == NUMERIC else FLOAT8 for kind in _NUMBERS}
"""The result type of functions with one form for double precision and one for numeric, by argument type."""


def _by_first(table: Mapping[int, SqlType]) -> Rule:
    return lambda _node, parts: (
        plain(table.get(parts[0].oid, parts[0])) if parts and parts[0] is not None else None
    )


def _rounded(node: exp.Expr, parts: Sequence[KnownType]) -> KnownType:
    return NUMERIC if len(parts) > 1 else _by_first(_WHOLE)(node, parts)


def _first(_node: exp.Expr, parts: Sequence[KnownType]) -> KnownType:
    return parts[0] if parts else None


def _choice(node: exp.Expr, _parts: Sequence[KnownType]) -> KnownType:
    default = node.args.get("default")
    results = [kind_of(branch.args["true"]) for branch in node.args["ifs"]]
    return common([*results, kind_of(default) if default is not None else UNKNOWN])


def _aggregated(_node: exp.Expr, parts: Sequence[KnownType]) -> KnownType:
    kind = plain(parts[0])
    if kind is None:
        return None
    return kind if element_of(kind) is not None else array_of(TEXT if kind.oid == UNKNOWN.oid else kind)


def unnested(kind: KnownType) -> KnownType:
    """The type of the elements of a list, as rows."""
    return None if kind is None else plain(element_of(kind))


def _always(kind: SqlType) -> Rule:
    return lambda _node, _parts: kind


def _pair(rule: Callable[[KnownType, KnownType], KnownType]) -> Rule:
    return lambda _node, parts: rule(parts[0], parts[1]) if len(parts) > 1 else None


def _truncated(node: exp.Expr, _parts: Sequence[KnownType]) -> KnownType:
    kind = kind_of(node.this)
    return TIMESTAMPTZ if kind == DATE else kind if kind in (TIMESTAMP, TIMESTAMPTZ) else None


_PREDICATES = (
    exp.All, exp.And, exp.Any, exp.ArrayContainedBy, exp.ArrayContainsAll, exp.ArrayOverlaps, exp.Between,
    exp.Boolean, exp.EQ, exp.Exists, exp.GT, exp.GTE, exp.ILike, exp.In, exp.Is, exp.Like,
    exp.LT, exp.LTE, exp.NEQ, exp.Not, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Or, exp.RegexpILike,
    exp.RegexpLike, exp.Escape,
)  # fmt: skip
_RULES: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(_PREDICATES, _always(BOOL)),
    **dict.fromkeys(
        (exp.Alias, exp.Collate, exp.Distinct, exp.Filter, exp.Order, exp.Paren, exp.Window), _first
    ),
    exp.Add: _pair(sum_kind),
    exp.AtTimeZone: lambda _node, parts: _ZONED.get(parts[0].oid) if parts and parts[0] is not None else None,
    exp.Array: _array,
    exp.ArrayPosition: _always(INT4),
    exp.Bracket: _element,
    exp.Case: _choice,
    exp.Cast: _cast,
    exp.Div: _pair(_multiplied),
    exp.Dot: lambda node, _parts: kind_of(node.expression),
    exp.DPipe: _pair(_concatenation_kind),
    exp.Interval: _always(INTERVAL),
    exp.TimestampTrunc: _truncated,
    exp.Literal: _literal,
    exp.Mod: _pair(arithmetic),
    exp.Mul: _pair(_multiplied),
    exp.Neg: _negative,
    exp.Null: _unless_told,
    exp.Pow: lambda _node, parts: (
        FLOAT8 if _REALS.issuperset(k.oid for k in parts if k is not None) else None
    ),
    exp.StrToDate: _always(DATE),
    exp.Sub: _pair(difference_kind),
    Places: _always(INT8),
}

_BY_NAME: Mapping[str, Rule] = {
    **dict.fromkeys(("max", "min"), _extreme),
    **dict.fromkeys(("ceil", "ceiling", "floor", "sign"), _by_first(_WHOLE)),
    **dict.fromkeys(("coalesce", "greatest", "least"), lambda _node, parts: common(parts)),
    **dict.fromkeys(("abs", "array_append", "array_concat", "array_remove", "nullif"), _by_first({})),
    "array_agg": _aggregated,
    "avg": _by_first(_MEANS),
    "generate_series": _pair(arithmetic),
    "round": _rounded,
    "sum": _by_first(_SUMS),
    "unnest": lambda _node, parts: unnested(parts[0]) if parts else None,
}


def rule_of(node: exp.Expr) -> Rule | None:
    """How the type of a node follows; of functions by their names in PostgreSQL. None where it is unknown."""
    found = _RULES.get(type(node))
    if found is not None or not isinstance(node, exp.Func):
        return found
    name = function_name(node)
    return _BY_NAME.get(name) or (_always(BY_NAME[name]) if name in BY_NAME else None)


_KIND = "kind"


def kind_of(node: exp.Expr | None) -> KnownType:
    """The type that was noted of a node."""
    found = None if node is None else node.meta.get(_KIND)
    return found if isinstance(found, SqlType) else None


def note_kind(node: exp.Expr, kind: KnownType) -> None:
    """Note the type of a node in its ``meta``; None notes nothing."""
    if kind is not None:
        node.meta[_KIND] = kind


def _by_name() -> Iterator[tuple[str, SqlType]]:
    """Those of the functions in pg_proc with one type of result, for all arguments."""
    known = {**BY_OID, **{kind.oid: kind for kind in OBJECTS}}
    found: dict[str, set[int]] = {}
    for row in facts("pg_proc"):
        found.setdefault(row["proname"], set()).add(row["prorettype"])
    for name, kinds in found.items():
        kind = known.get(min(kinds)) if len(kinds) == 1 else None
        if kind is not None:
            yield name, kind


BY_NAME: Mapping[str, SqlType] = {
    **dict(_by_name()),
    **dict.fromkeys(("inet_client_addr", "inet_server_addr"), INET),
    **dict.fromkeys(("pg_current_xact_id", "pg_current_xact_id_if_assigned"), INT8),
    **dict.fromkeys(("substring", "substr", "btrim", "ltrim", "rtrim", "string_agg", "regexp_extract"), TEXT),
    **dict.fromkeys(("user", "current_role", "current_catalog"), NAME),
    "bpchar": BPCHAR,
    "every": BOOL,
    "parse_ident": array_of(TEXT),
    "pg_partition_ancestors": REGCLASS,
}
"""The types of functions that always return the same one, by name."""
