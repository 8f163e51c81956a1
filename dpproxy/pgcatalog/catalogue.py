"""Statements about the database itself, answered from the policy alone."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from sqlglot import exp

from dpproxy.algebra.plan import Answer
from dpproxy.pgcatalog.compiler import parameters, results, scopes
from dpproxy.pgcatalog.compiler.column_types import result_types
from dpproxy.pgcatalog.compiler.moments import engine_zone
from dpproxy.pgcatalog.compiler.rewrite import SESSION, Rewritten, rewrite
from dpproxy.pgcatalog.database import CatalogueDatabase, Fresh, ResultColumns, check_size
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.errors import ShuttingDown
from dpproxy.values.pgtypes import Column, SqlType

MAX_DATABASES = 32
"""The most callers' catalogues in memory; each takes some megabytes."""


class Catalogue:
    """Answers statements that read no relations but the catalogue's.

    Its methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._databases: OrderedDict[tuple[object, ...], CatalogueDatabase] = OrderedDict()
        self._closed = False

    def covers(self, tree: exp.Expr) -> bool:
        """Whether a query reads no relations but the catalogue's, at any depth."""
        if not isinstance(tree, exp.Query | exp.Values):
            return False
        return all(scopes.is_own(table) for table in scopes.relations(tree))

    def prepare(
        self, view: CatalogueView, tree: exp.Expr, types: Sequence[int]
    ) -> tuple[tuple[SqlType, ...], tuple[Column, ...]]:
        """Types of the parameters, and the result's columns.

        Args:
            view: the catalogue as the caller may see it.
            tree: a statement for which ``covers`` holds.
            types: declared OIDs of the parameters; 0, or too few, where unknown.

        Raises:
            Refusal: for whatever is not on a list.
        """
        kinds = parameters.types(tree, types)
        statement = rewrite(view, tree, kinds, None)
        described = self._database(view).describe(statement, _fresh(statement, _no_rows(view)))
        return kinds, _columns(statement, described)

    def run(
        self,
        view: CatalogueView,
        tree: exp.Expr,
        values: Sequence[object],
        dp: Fresh,
        cancelled: Callable[[], bool] = lambda: False,
        types: Sequence[int] = (),
    ) -> Answer:
        """The answer.

        Args:
            view: the catalogue as the caller may see it.
            tree: a statement for which ``covers`` holds.
            values: the parameters' values.
            dp: this caller's rows of the relations of schema dp.
            cancelled: says whether the statement was cancelled.
            types: as for `prepare`.

        Raises:
            Refusal: for whatever is not on a list, or too large.
        """
        kinds = parameters.types(tree, [*types, *[0] * (len(values) - len(types))])
        statement = rewrite(view, tree, kinds, values)
        fresh = _fresh(statement, {**_no_rows(view), **dp})
        database = self._database(view)
        described, fetched = database.run(statement, fresh, cancelled)
        columns = _columns(statement, described)
        kinds_of_rows = [column.type for column in columns]
        check_size(len(fetched) * sum(results.padding(kind) for kind in kinds_of_rows))
        rows = results.rows(kinds_of_rows, [stored for _, stored in described], fetched, database.names)
        return Answer(f"SELECT {len(rows)}", columns, rows)

    def close(self) -> None:
        """Drop all databases; nothing can be answered afterwards."""
        with self._lock:
            self._closed = True
            databases = list(self._databases.values())
            self._databases.clear()
        for database in databases:
            database.close()

    def _database(self, view: CatalogueView) -> CatalogueDatabase:
        with self._lock:
            if self._closed:
                raise ShuttingDown("the server is shutting down")
            zone = engine_zone(view.settings) or "UTC"
            key = view.key, zone
            found = self._databases.get(key)
            if found is None or found.broken:
                found = self._databases[key] = CatalogueDatabase(view, zone)
                if len(self._databases) > MAX_DATABASES:
                    # Not closed here: a statement of another thread may run in it; it ends with its last cursor.
                    self._databases.popitem(last=False)
            self._databases.move_to_end(key)
            return found


def _columns(statement: Rewritten, described: ResultColumns) -> tuple[Column, ...]:
    names = [name for name, _ in statement.fields or described]
    return tuple(map(Column, names, result_types(statement.fields, described)))


def _no_rows(view: CatalogueView) -> Fresh:
    return {relation.name: (relation.columns, ()) for relation in view.own}


def _fresh(statement: Rewritten, dp: Fresh) -> Fresh:
    """The rows of relations that are computed for each statement."""
    wanted = {name: dp[name] for name in statement.fresh if name not in SESSION}
    for name in statement.fresh & SESSION:
        table = TABLES["pg_catalog", name]
        columns = tuple(Column(name, results.column_type(kind)) for name, kind in table.columns.items())
        rows = [tuple(row.get(name) for name in table.columns) for row in table.rows(statement.view)]
        wanted[name] = (columns, rows)
    return wanted
