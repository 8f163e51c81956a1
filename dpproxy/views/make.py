"""Build a view: from its definition to the request for its method, to the method's input, to the released relations."""

import re
from collections.abc import Mapping, Sequence, Set
from fractions import Fraction
from math import prod

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpproxy.anonymize import measures
from dpproxy.anonymize.auto import foretold
from dpproxy.anonymize.model import (
    Anonymized,
    Attribute,
    InvalidOption,
    LatticeDomain,
    Method,
    Progress,
    Role,
    Table,
    Together,
    ViewBuild,
    ViewRequest,
)
from dpproxy.policy.model import ColumnClass, OptionValue, ProtectedView
from dpproxy.sql.grammar import parse
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import INT8, TIMESTAMP
from dpproxy.views.columns import (
    Listed,
    NumberColumn,
    ShownColumn,
    ViewColumn,
    decode,
    encode,
    shown_column,
)
from udfs.privacy import Exact
from udfs.randomness import Words

OWN = frozenset({"method", "quasi", "sensitive", "charge", "reason"})
"""Options that every view takes; the others are its method's."""


_WIDTH = re.compile(r"\d{1,18}(\.\d{1,18})?")
ACHIEVED = "achieved "
"""Prefix of the names of figures that depend on the data."""


class StoredRelation(Struct, frozen=True):
    """A relation to be stored: its columns, and its rows in the form that ``columns.stored`` takes."""

    columns: tuple[ShownColumn, ...]
    rows: pa.Table


def checked(
    view: ProtectedView,
    columns: Sequence[ViewColumn],
    expected_rows: int | None,
    methods: Mapping[str, Method],
    together: tuple[Together, ...] = (),
) -> tuple[Method, ViewBuild]:
    """The method of a view, with its guarantee and price. Raises ``InvalidOption``; reads no row."""
    method = methods.get(str(view.option("method")))
    if method is None:
        raise InvalidOption("method", "no such method", f"Methods: {', '.join(sorted(methods))}.")
    own = own_options(view)
    own |= {"workload": _workload(own["workload"], columns)} if "workload" in own else {}
    own |= {"bins": _bins(own["bins"], columns)} if "bins" in own else {}
    unknown = next((name for name in own if name not in method.options), None)
    if unknown is not None:
        listed = ", ".join([*method.options, *sorted(OWN - {"method"})])
        raise InvalidOption(unknown, f"{method.name} has no such option", f"Options: {listed}.")
    request = ViewRequest(_attributes(view, columns), own, expected_rows, together)
    build = method.check(request)
    return method, build if build.error else replace(build, error=foretold(request, build, method.name))


def own_options(view: ProtectedView) -> dict[str, OptionValue]:
    """The options of a view that are its method's."""
    return {name: value for name, value in view.options if name not in OWN}


def _workload(value: OptionValue, columns: Sequence[ViewColumn]) -> OptionValue:
    """The workload, with the columns that a statement uses, between commas, in place of the statement."""
    listed = {column.name for column in columns}
    entries = (value,) if isinstance(value, str) else value
    if not isinstance(entries, tuple):
        return value
    return tuple(str(one) if one in listed else _used(str(one), listed) for one in entries)


def _bins(value: OptionValue, columns: Sequence[ViewColumn]) -> OptionValue:
    """The widths of bins, as in 'age 10', in places of their columns; what is no such text stays as it is."""
    entries = (value,) if isinstance(value, str) else value
    numbers = {column.name: column for column in columns if isinstance(column.places, NumberColumn)}
    return tuple(_in_places(str(one), numbers) for one in entries) if isinstance(entries, tuple) else value


def _in_places(text: str, numbers: Mapping[str, ViewColumn]) -> str:
    name, _, width = text.rpartition(" ")
    column = numbers.get(name.strip())
    if column is None or not isinstance(column.places, NumberColumn) or not _WIDTH.fullmatch(width):
        return text
    places = Fraction(width) / (column.places.unit * column.places.step)
    if column.type.oid == TIMESTAMP.oid:  # a width in days, to the nearest step
        places = Fraction(round(places * 86_400_000_000))
    if places.denominator > 1:
        step = float(column.places.unit * column.places.step)
        hint = f"A width of {column.name} is a multiple of {step:g}."
        raise InvalidOption("bins", f"bins of {column.name} are not of a whole number of its steps", hint)
    return f"{column.name} {places}"


def _used(text: str, listed: Set[str]) -> str:
    """The columns of ``listed`` that a SELECT uses, between commas; any other text as it is."""
    try:
        trees = parse(text)
    except (Refusal, SqlglotError):
        return text
    if not (trees and isinstance(trees[0], exp.Select)):
        return text
    found = [column.this for tree in trees for column in tree.find_all(exp.Column)]
    names = [one.name if one.args.get("quoted") else one.name.lower() for one in found]
    return ", ".join(dict.fromkeys(name for name in names if name in listed)) or text


def _attributes(view: ProtectedView, columns: Sequence[ViewColumn]) -> tuple[Attribute, ...]:
    """The columns in the form that methods and measures take."""
    roles = _roles(view, columns)
    return tuple(Attribute(c.name, c.domain, roles[c.name], c.nullable) for c in columns)


def _roles(view: ProtectedView, columns: Sequence[ViewColumn]) -> dict[str, Role]:
    """The role of each column: the view's own lists win over classes; a column in neither has the role BOTH."""
    lists = {name: _names(name, view.option(name), columns) for name in ("quasi", "sensitive")}
    roles = {}
    for column in columns:
        known, secret = (column.name in lists[name] for name in ("quasi", "sensitive"))
        if not (lists["quasi"] or lists["sensitive"]):
            known = column.column_class is ColumnClass.QUASI_IDENTIFIER
            secret = column.column_class is ColumnClass.SENSITIVE
        roles[column.name] = Role.BOTH if known == secret else Role.QUASI if known else Role.SENSITIVE
    return roles


def _names(option: str, value: OptionValue | None, columns: Sequence[ViewColumn]) -> frozenset[str]:
    if value is None:
        return frozenset()
    names = (value,) if isinstance(value, str) else value
    listed = {column.name for column in columns}
    if not isinstance(names, tuple) or not all(name in listed for name in names):
        raise InvalidOption(option, "names a column that the view has not", f"({', '.join(sorted(listed))})")
    return frozenset(str(name) for name in names)


def places(columns: Sequence[ViewColumn], exact: Exact[pa.Table], *, nulls: bool = False) -> Table:
    """The input of a method, as places in domains, sorted; private like ``exact``, although the type does not say so.

    Rows with a value that is not listed drop out, and so do those with a NULL, but for NULL numbers with ``nulls``.
    They are sorted by their values, so that their order does not depend on the order of the query's result.
    """
    found, known = [], np.ones(exact.value.num_rows, np.bool_)
    for index, column in enumerate(columns):
        values, has_one = encode(column, exact.value.column(index), nulls=nulls)
        found.append(values)
        known &= has_one
    rows = np.stack(found, axis=1)[known]
    sizes = [_size(column) for column in columns]
    if prod(sizes) < 2**63:  # one number for a row: sorted in a tenth of the time
        keys = np.sort(np.ravel_multi_index(tuple(rows.T), sizes)) if len(rows) else np.empty(0, np.int64)
        return np.ascontiguousarray(np.stack(np.unravel_index(keys, sizes), axis=1).astype(np.int64))
    return np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])])


def _size(column: ViewColumn) -> int:
    """The number of places of a column."""
    match column.places:
        case NumberColumn():
            return column.places.last + 1 + column.nullable
        case Listed(values):
            return len(values)


def made(build: ViewBuild, rows: Table, words: Words, progress: Progress) -> Anonymized:
    """Run the method; released rows are shuffled, since their order could depend on the order of the input."""
    found = build.make(rows, words, progress)
    order = np.argsort(np.frombuffer(words(8 * len(found.rows)), np.uint64), kind="stable")
    source = None if found.source is None else found.source[order]
    return Anonymized(found.rows[order], found.linked, found.inside, source, found.achieved)


def figures(
    view: ProtectedView, build: ViewBuild, columns: Sequence[ViewColumn], rows: Table, found: Anonymized
) -> dict[str, float]:
    """Exact figures of a release: its information loss, its risk, and ``achieved``; only those that are defined."""
    attributes = _attributes(view, columns)
    if build.nulls:
        rows, released = (_known(each, attributes) for each in (rows, found.rows))
        found = replace(found, rows=released)
    if not len(rows) or not len(found.rows):
        return _named(found.achieved)
    names = build.columns or tuple(c.name for c in columns)
    try:
        return {**measures.measured(rows, found, attributes, names), **_named(found.achieved)}
    except ValueError:  # too few rows to compare
        return _named(found.achieved)


def _known(rows: Table, attributes: Sequence[Attribute]) -> Table:
    """The rows without NULL."""
    highs = [
        a.domain.high if isinstance(a.domain, LatticeDomain) else np.iinfo(np.int64).max for a in attributes
    ]
    return rows[(rows <= highs).all(axis=1)]


def _named(achieved: Mapping[str, float]) -> dict[str, float]:
    return {f"{ACHIEVED}{name}": value for name, value in achieved.items()}


def relations(
    build: ViewBuild, columns: Sequence[ViewColumn], found: Anonymized
) -> dict[str, StoredRelation]:
    """The relations to store, by suffix; that of the view itself is ``""``."""
    names = build.columns or tuple(column.name for column in columns)
    known = {column.name: column for column in columns}
    kept = {"": _relation(names, found.rows, known, inside=found.inside)}
    for suffix, linked in found.linked.items():
        alike = {name: replace(known[of], name=name) for name, of in linked.like.items()}
        kept[suffix] = _relation(linked.columns, linked.values, {**known, **alike}, inside=found.inside)
    return kept


def _relation(
    names: Sequence[str], rows: Table, known: Mapping[str, ViewColumn], *, inside: bool
) -> StoredRelation:
    shown: list[ShownColumn] = []
    arrays: list[pa.Array] = []
    for index, name in enumerate(names):
        column, values = known.get(name), rows[:, index]
        shown.append(ShownColumn(name, INT8) if column is None else shown_column(column, inside=inside))
        is_place = column is None or inside
        arrays.append(pa.array(values, pa.int64()) if is_place else decode(known[name], values))
    return StoredRelation(tuple(shown), pa.table(arrays, list(names)))
