"""Views of the data source: each is a name for a query that is planned where the name stands.

Nothing is ever read through the engine's own view. Inside a view, names are looked up as its owner does: its tables
need no grant to the caller, and names of the statement around it are not seen.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.planner.access import Context, Use, find_table, not_granted, table_name
from dpproxy.planner.open.relations import Open
from dpproxy.planner.rows.relation import Scan
from dpproxy.planner.rows.scans import is_public
from dpproxy.planner.view_text import AcceptedView, check_stars, read_text
from dpproxy.policy.model import Policy, TablePolicy
from dpproxy.values.errors import Refusal, UndefinedColumn, UndefinedTable, Unsupported
from dpproxy.values.pgtypes import Schema, View

DEEPEST_VIEW = 8
"""Views inside each other."""


class Readable(View, frozen=True):
    """A view whose text was read and accepted."""

    text: AcceptedView | None = None


def read_views(schema: Schema) -> Schema:
    """The schema with the texts of its views read; one that cannot be used has a ``flaw``."""
    if not schema.views:
        return schema
    reader = _Reader(schema)
    return replace(schema, views={name: reader.view(name, ()) for name in schema.views})


class _Reader:
    """Reads views, those inside before those around them.

    Names are spelled as in the schema; what differs there in case alone has no one spelling.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._relations = frozenset((*schema.tables, *schema.views))
        columns = {c.name for listed in schema.tables.values() for c in listed}
        columns |= {c for listed in schema.left_out.values() for c in listed}
        columns |= {c for v in schema.views.values() for c in v.columns}
        spellings: dict[str, set[str]] = {}
        for name in self._relations | columns:
            spellings.setdefault(name.lower(), set()).add(name)
        self._spelling = {lower: min(found) for lower, found in spellings.items()}
        self._several = {lower for lower, found in spellings.items() if len(found) > 1}
        self._found: dict[str, View] = {}
        self._heights: dict[str, int] = {}

    def view(self, name: str, around: tuple[str, ...]) -> View:
        """The view, read; ``around`` are those it stands in."""
        found = self._found.get(name)
        if found is None:
            found = self._schema.views[name]
            try:
                found = self._read(name, found, (*around, name))
            except Refusal as refusal:
                found = replace(found, flaw=refusal.message)
            self._found[name] = found
        return found

    def _read(self, name: str, view: View, around: tuple[str, ...]) -> Readable:
        text = read_text(view.sql, self._relations, self._spelling)
        unclear = sorted(self._several & {i.name.lower() for i in text.tree.find_all(exp.Identifier)})
        if unclear:
            raise Unsupported(f'several names differ from "{unclear[0]}" in case alone')
        for read in text.reads:
            if read in around:
                raise Unsupported("it stands in itself")
            self._check(read, around)
        self._heights[name] = 1 + max((self._heights.get(r, 0) for r in text.reads), default=0)
        if self._heights[name] > DEEPEST_VIEW:
            raise Unsupported("its views stand too deep in each other")
        return Readable(view.sql, view.columns, text.reads, None, text)

    def _check(self, read: str, around: tuple[str, ...]) -> None:
        if read in self._schema.views:
            flaw = self.view(read, around).flaw
            if flaw is not None:
                raise Unsupported(f'view "{read}": {flaw}')
        elif read not in self._schema.tables:
            raise UndefinedTable(f'relation "{read}" does not exist')


def find_view(node: exp.Table, context: Context, *, inside: bool) -> Readable | None:
    """The view of a name, None where there is none; ``inside`` a view no grant is needed.

    Errors: ``UndefinedTable`` alike for a missing, unusable and not granted one.
    """
    name = table_name(node)
    found = context.schema.views.get(name)
    if found is None:
        return None
    granted = inside or name in context.policy.granted_to(context.caller.roles)
    if isinstance(found, Readable) and granted:
        return found
    if isinstance(found, Readable) and context.caller.is_admin:
        raise not_granted("view", name, node, context)
    raise UndefinedTable(f'relation "{name}" does not exist', position=position(node))


def uses(node: exp.Table, context: Context) -> list[Use]:
    """The protected tables behind a view that a statement names."""
    policies = (context.policy.tables.get(base) for base in context.schema.bases(table_name(node)))
    return [Use(node, p.name) for p in policies if p is not None and not is_public(p)]


def tables_of(tree: exp.Expr, context: Context) -> list[Use]:
    """The protected tables a statement names, of which it may read fewer."""
    every = [*tree.find_all(exp.CTE, exp.Table)]
    hidden = {table for query in every if type(query) is exp.CTE for table in _covered(query)}
    found: list[Use] = []
    for table in every:
        if isinstance(table, exp.Table) and id(table) not in hidden:
            try:
                if find_view(table, context, inside=False) is not None:
                    found += uses(table, context)
                elif not is_public(find_table(table, context)):
                    found.append(Use(table, table_name(table)))
            except Refusal:  # said with its place by the pass itself
                continue
    return found


def _covered(query: exp.CTE) -> set[int]:
    """The tables that are a name of WITH: in the query that it is for, but for what stands before it."""
    listed = query.parent
    if listed is None or listed.parent is None:
        raise AssertionError("a name of WITH is for a query")
    before = listed.expressions[: (query.index or 0) + 1]
    named = {id(t) for t in listed.parent.find_all(exp.Table) if t.name == query.alias and not t.db}
    return named - {id(t) for each in before for t in each.find_all(exp.Table)}


@contextmanager
def placed_at(node: exp.Table) -> Iterator[None]:
    """What is refused inside a view is refused where the statement names it."""
    try:
        yield
    except Refusal as refusal:
        refusal.message = f'view "{node.name}": {refusal.message}'
        refusal.args = (refusal.message,)
        refusal.position = position(node)
        if (refusal.hint or "").startswith("SELECT "):  # in the words of the view, which not all may read
            refusal.hint = None
        raise


def query_of(view: Readable, context: Context) -> exp.Expr:
    """The query a view stands for. Raises ``UndefinedColumn``, ``Unsupported`` where undeclared columns change it."""
    text = view.text
    if text is None:
        raise AssertionError("a view that was not read")
    hidden = _hidden(view, context)
    check_stars(text, hidden)
    bare = sorted(text.bare & hidden.keys())
    if bare:
        raise UndefinedColumn(
            f'column "{hidden[bare[0]]}" does not exist',
            hint="No column of that name is declared: leave it out, or write the table that is meant before the name.",
        )
    return text.tree


def _hidden(view: View, context: Context) -> Mapping[str, str]:
    """The columns of a view's tables that do not exist for anybody, by lower case."""
    schema, policy = context.schema, context.policy
    found: dict[str, str] = {}
    for read in view.reads:
        for table in schema.bases(read):
            shown = _shown(policy.tables.get(table, TablePolicy(table)), policy)
            names = [c.name for c in schema.tables[table]]
            found |= {n.lower(): n for n in names if shown is not None and n not in shown}
            found |= {n.lower(): n for n in schema.left_out.get(table, ())}
    return found


def _shown(table: TablePolicy, policy: Policy) -> Collection[str] | None:
    """The columns that exist: declared ones, the key, and what other tables refer to; None for all."""
    if is_public(table):
        return None
    shown = {name for name, column in table.columns.items() if column.domain is not None}
    shown |= {name for key_set in table.composites for name in key_set.columns}
    referred = (t.unit.references for t in policy.tables.values() if t.unit is not None)
    shown |= {r[1] for r in referred if r is not None and r[0] == table.name}
    if table.unit is not None and table.unit.key is not None:
        shown.add(table.unit.key)
    return shown


def as_view(view: Readable, found: Scan | Open, context: Context) -> Scan | Open:
    """What the query became, under the names of the view's columns. Raises ``Unsupported`` where they do not fit."""
    names = [f.name for f in found.fields] if isinstance(found, Scan) else [c.name for c in found.columns]
    starred = view.text is not None and view.text.starred
    if len(names) == len(view.columns) and (not starred or _numbered(names) == list(view.columns)):
        return _renamed(found, view.columns)
    hidden = _hidden(view, context)
    kept = [c for c in view.columns if c in names]
    dropped = {c.lower() for c in view.columns if c not in names}
    if (
        not starred
        or kept != names
        or not dropped <= hidden.keys()
        or any(n.lower() in hidden for n in names)
    ):
        raise Unsupported(
            "its columns are not those of its query", hint="Write the columns out instead of *."
        )
    return found


def _renamed(found: Scan | Open, names: Collection[str]) -> Scan | Open:
    if isinstance(found, Scan):
        fields = tuple(f.moved(n, f.column) for f, n in zip(found.fields, names, strict=True))
        return replace(found, fields=fields)
    columns = tuple(replace(c, name=n) for c, n in zip(found.columns, names, strict=True))
    return replace(found, columns=columns)


def _numbered(names: Collection[str]) -> list[str]:
    """As the engine tells columns of one name apart: ``id``, ``id_1``."""
    found: list[str] = []
    for name in names:
        number, free = 0, name
        while free.lower() in {f.lower() for f in found}:
            number += 1
            free = f"{name}_{number}"
        found.append(free)
    return found
