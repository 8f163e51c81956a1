"""What the DDL declares of keys and values: public facts, as the names and types of columns are."""

import duckdb

from dpproxy.values.pgtypes import CheckConstraint, Constraint, ForeignKey, UniqueKey

_DECLARED = (
    "SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names, "
    "expression FROM duckdb_constraints() WHERE schema_name = ? AND database_name = current_database() "
    "ORDER BY table_name, constraint_index"
)


def constraints(connection: duckdb.DuckDBPyConnection, schema: str = "main") -> tuple[Constraint, ...]:
    """Keys and checks of a schema, in the order of their tables; NOT NULL is the column's own."""
    found: list[Constraint] = []
    for table, kind, columns, target, referenced, expression in connection.execute(
        _DECLARED, [schema]
    ).fetchall():
        match kind:
            case "PRIMARY KEY" | "UNIQUE":
                found.append(UniqueKey(table, tuple(columns), primary=kind == "PRIMARY KEY"))
            case "FOREIGN KEY":
                found.append(ForeignKey(table, tuple(columns), target, tuple(referenced)))
            case "CHECK":
                found.append(CheckConstraint(table, expression))
            case _:
                pass
    return tuple(found)
