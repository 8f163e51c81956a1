"""The scope of rows: what a column name means over protected data, before anything is released."""

from dataclasses import dataclass

from sqlglot import exp

from dpproxy.analysis.domains import read_column
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Level, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.errors import GroupingError, NotGranted, UndefinedTable
from dpproxy.pgtypes import Column
from dpproxy.planner.access import Context, Source
from dpproxy.planner.refusals import quoted, unknown_column
from dpproxy.policy.model import Domain


def unqualified(select: exp.Select, source: Source) -> exp.Select:
    """A copy whose columns have lost their table's name, so that one column is written one way."""
    copy = select.copy()
    for node in list(copy.find_all(exp.Column)):
        if node.table and node.table != source.alias:
            raise UndefinedTable(
                f'missing FROM-clause entry for table "{node.table}"', position=position(node)
            )
        node.set("table", None)
    return copy


@dataclass(frozen=True, slots=True)
class RowScope:
    """Declared columns of one protected table."""

    source: Source
    context: Context

    def knows(self, name: str) -> bool:
        """A declared column or the privacy key; what else the table holds is as if it were not there."""
        unit = self.source.policy.unit
        return name in self.source.policy.columns or (unit is not None and unit.key == name)

    def declared(self, node: exp.Column) -> tuple[Column, Domain]:
        """The column and its domain. Raises 42703 alike for missing and undeclared ones."""
        policy = self.source.policy
        unit = policy.unit
        column = self.context.schema.column(policy.name, node.name)
        declared = policy.columns.get(node.name)
        if (
            column is not None
            and unit is not None
            and unit.key == node.name
            and (declared is None or declared.domain is None)
        ):
            raise NotGranted(
                f'the privacy key "{node.name}" tells people apart and is not answered',
                hint=f"SELECT count(*) FROM {quoted(policy.name)};",  # noqa: S608 - a hint
                position=position(node),
            )
        if column is None or declared is None or declared.domain is None:
            raise unknown_column(
                node, policy.name, (c for c, p in policy.columns.items() if p.domain is not None)
            )
        return column, declared.domain

    def scope(self, parameters: Parameters) -> Scope:
        """The leaves for the expression compiler."""
        return Scope(Level.ROW, self._leaf, parameters)

    def _leaf(self, node: exp.Expr) -> Typed | None:
        if isinstance(node, exp.AggFunc):
            raise GroupingError("aggregate function calls may not stand here", position=position(node))
        if type(node) is exp.Column:
            return read_column(*self.declared(node))
        return None
