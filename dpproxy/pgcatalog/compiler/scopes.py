"""The relations that a statement reads, without its own WITH queries."""

from collections.abc import Iterator

from sqlglot import exp

from dpproxy.analysis.relations import is_of_with
from dpproxy.analysis.titles import folded
from dpproxy.config.settings import FROM_ENGINE
from dpproxy.pgcatalog.relations import TABLES

OWN_SCHEMAS = frozenset({"pg_catalog", "information_schema", "dp"})


def is_relation(table: exp.Table) -> bool:
    """Whether a node names a relation, and no function or WITH query."""
    return isinstance(table.this, exp.Identifier) and (bool(table.db) or not is_of_with(table))


def relations(tree: exp.Expr) -> Iterator[exp.Table]:
    """Every named relation at any depth."""
    return (table for table in tree.find_all(exp.Table) if is_relation(table))


def reads_relations(tree: exp.Expr) -> bool:
    """Whether a statement names a relation, or has a function after FROM that the planner does not know."""
    known = exp.Identifier | exp.ExplodingGenerateSeries
    return any(is_relation(t) or not isinstance(t.this, known) for t in tree.find_all(exp.Table))


def own_names(tree: exp.Expr) -> frozenset[str]:
    """The folded names of the relations of schema dp that a statement reads."""
    return frozenset(folded(t.this) for t in relations(tree) if folded(t.args.get("db")) == "dp")


def engine_settings(tree: exp.Expr) -> tuple[str, ...]:
    """The settings computed by the engine that a statement may read; each needs a query of the ledger."""
    asks = any(folded(t.this) == "pg_settings" for t in relations(tree)) or any(
        node.name.lower() == "current_setting" for node in tree.find_all(exp.Anonymous)
    )
    return FROM_ENGINE if asks else ()


def is_own(table: exp.Table) -> bool:
    """Whether a relation is the catalogue's."""
    schema, name = folded(table.args.get("db")), folded(table.this)
    return schema in OWN_SCHEMAS if schema else ("pg_catalog", name) in TABLES or name.startswith("pg_")
