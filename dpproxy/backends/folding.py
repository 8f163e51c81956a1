"""A data source whose names are served in small letters, as PostgreSQL reads names without quotes.

Each statement of ours reads a table of such names through a query that gives its columns their names here; every engine
takes that for the table itself.
"""

from collections.abc import Generator, Sequence
from typing import Unpack, cast

import pyarrow as pa
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import PreparedTable
from dpproxy.backends.source import IsCancelled, Reading, Source, Values
from dpproxy.sql.lexer import TokenKind, tokens
from dpproxy.sql.quoting import quoted
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import CheckConstraint, Constraint, ForeignKey, Schema, UniqueKey
from udfs.privacy import Exact

_SMALL = str.maketrans({letter: letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"})


def small(name: str) -> str:
    """A name as PostgreSQL folds it: other letters than these are left alone."""
    return name.translate(_SMALL)


class Folded:
    """Another source under folded names; ``backends.source`` says what each method does."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.prepared_names, self.load, self.unload = source.prepared_names, source.load, source.unload
        self.progress, self.interrupt, self.close = source.progress, source.interrupt, source.close
        self._own = source.schema()
        """Under the names that the engine has."""
        self._names = {small(name): name for name in self._own.tables}

    @property
    def epoch(self) -> int:
        """How often the data were opened anew."""
        return self._source.epoch

    @property
    def prepares(self) -> bool:
        """Whether it keeps prepared tables."""
        return self._source.prepares

    def schema(self) -> Schema:
        """Tables, columns and views, from the DDL alone."""
        own = self._own
        tables = {small(t): tuple(replace(c, name=small(c.name)) for c in own.tables[t]) for t in own.tables}
        views = {
            small(v): replace(view, columns=tuple(map(small, view.columns))) for v, view in own.views.items()
        }
        columns = (c.name for listed in own.tables.values() for c in listed)
        spelled = {
            *(part for name in own.tables for part in own.places.get(name, (name,))),
            *own.views,
            *columns,
        }
        return Schema(
            tables,
            tuple(map(_constraint, own.constraints)),
            views,
            {small(table): tuple(map(small, names)) for table, names in own.left_out.items()},
            {small(table): tuple(map(small, names)) for table, names in own.documents.items()},
            {small(name): (small(schema), small(table)) for name, (schema, table) in own.places.items()},
            {name: small(name) for name in spelled if name != small(name)},
        )

    def _over(self, query: nodes.Query) -> nodes.Query:
        """The statement over the tables as the engine has them."""

        def read(node: nodes.Node) -> nodes.Subquery | nodes.Table | None:
            if not isinstance(node, nodes.Table) or node.path or node.name not in self._names:
                return None
            name = self._names[node.name]
            columns = [*(c.name for c in self._own.tables[name]), *self._own.documents.get(name, ())]
            if name == node.name and all(c == small(c) for c in columns):
                return node
            items = tuple(nodes.Named(nodes.ColumnRef(c), small(c)) for c in columns)
            return nodes.Subquery(nodes.Select(items, nodes.Table(name)), node.alias or node.name)

        return cast("nodes.Query", query.transform(read))

    def check(self, query: nodes.Query, prepares: Sequence[PreparedTable] = ()) -> None:
        """Raise ``Unsupported`` for an exact stage which it cannot run."""
        self._source.check(self._over(query), [replace(p, query=self._over(p.query)) for p in prepares])

    def shown(self, query: nodes.Query) -> str:
        """The text of a statement, as the engine reads it."""
        return self._source.shown(self._over(query))

    def run(
        self, query: nodes.Query, parameters: Values, session: str, **how: Unpack[Reading]
    ) -> Exact[pa.Table]:
        """Run one statement of ours over protected tables."""
        return self._source.run(self._over(query), parameters, session, **how)

    def build(
        self, name: str, query: nodes.Query | None, parameters: Values, session: str, cancelled: IsCancelled
    ) -> None:
        """Make a prepared table of the rows of a query; drop it where there is none."""
        over = None if query is None else self._over(query)
        self._source.build(name, over, parameters, session, cancelled)

    def run_public(self, query: nodes.Query, session: str) -> list[tuple[object, ...]]:
        """Rows of a statement over public tables."""
        return self._source.run_public(self._over(query), session)

    def run_open(self, query: nodes.Query, session: str) -> pa.Table:
        """A statement over public tables as a table."""
        return self._source.run_open(self._over(query), session)

    def run_portions(self, query: nodes.Query, portion: int, session: str) -> Generator[pa.Table]:
        """Rows of a statement over public tables and views, so many as they are taken."""
        return self._source.run_portions(self._over(query), portion, session)


def _constraint(one: Constraint) -> Constraint:
    match one:
        case UniqueKey():
            return replace(one, table=small(one.table), columns=tuple(map(small, one.columns)))
        case ForeignKey():
            ends = tuple(map(small, one.columns)), small(one.target), tuple(map(small, one.referenced))
            return ForeignKey(small(one.table), *ends)
        case CheckConstraint():
            return CheckConstraint(small(one.table), _expression(one.expression))


def _expression(text: str) -> str:
    """An expression of the engine's with the names in quotes folded; unread where it is none of PostgreSQL's."""
    try:
        named = [t for t in tokens(text) if t.kind is TokenKind.NAME]
    except Refusal:
        return text
    for token in reversed(named):
        text = f"{text[: token.position]}{quoted(small(token.text))}{text[token.end :]}"
    return text
