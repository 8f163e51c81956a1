"""Which tables a statement reads: its own WITH names apart."""

from collections.abc import Iterator

from sqlglot import exp

from dpproxy.config.settings import FROM_ENGINE
from dpproxy.pgcatalog.relations import TABLES

OWN_SCHEMAS = frozenset({"pg_catalog", "information_schema", "dp"})


def is_relation(table: exp.Table) -> bool:
    """Whether it names a relation: no function, and no WITH query of the statement."""
    return isinstance(table.this, exp.Identifier) and not (not table.db and _names_cte(table))


def relations(tree: exp.Expr) -> Iterator[exp.Table]:
    """Every named relation at any depth."""
    return (table for table in tree.find_all(exp.Table) if is_relation(table))


def own_names(tree: exp.Expr) -> frozenset[str]:
    """Names, folded, of the relations of schema dp that it reads."""
    return frozenset(fold(t.this) for t in relations(tree) if fold(t.args.get("db")) == "dp")


def engine_settings(tree: exp.Expr) -> tuple[str, ...]:
    """The settings that the engine tells, if it may ask for any: each costs a look into the ledger."""
    asks = any(fold(t.this) == "pg_settings" for t in relations(tree)) or any(
        node.name.lower() == "current_setting" for node in tree.find_all(exp.Anonymous)
    )
    return FROM_ENGINE if asks else ()


def fold(identifier: exp.Expr | None) -> str:
    """The name as PostgreSQL reads it: lower case unless quoted."""
    if not isinstance(identifier, exp.Identifier):
        return ""
    return str(identifier.name) if identifier.quoted else str(identifier.name).lower()


def is_own(table: exp.Table) -> bool:
    """Whether the catalogue answers for it."""
    schema, name = fold(table.args.get("db")), fold(table.this)
    return schema in OWN_SCHEMAS if schema else ("pg_catalog", name) in TABLES or name.startswith("pg_")


def _names_cte(table: exp.Table) -> bool:
    name, below = fold(table.this), None
    node: exp.Expr | None = table
    while node is not None:
        with_ = node.args.get("with_")
        if with_ is not None and name in _in_reach(with_, below):
            return True
        if not isinstance(node, exp.With):
            below = node
        node = node.parent
    return False


def _in_reach(with_: exp.With, below: exp.Expr | None) -> set[str]:
    """Names that the part of the statement under ``below`` may use: the queries before its own, unless RECURSIVE."""
    names: list[str] = []
    for cte in with_.expressions:
        if cte is below and not with_.args.get("recursive"):
            break
        names.append(fold(cte.args["alias"].this))
    return set(names)
