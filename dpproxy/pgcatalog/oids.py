"""Object identifiers that stay the same over restarts and policy versions, from names alone.

OIDs of the proxy's objects start at 16384, as in PostgreSQL (transam.h: FirstNormalObjectId). A name's OID does not
depend on which other objects exist, so it reveals nothing about them.
"""

import hashlib

CATALOGUE = 11
"""pg_namespace.oid of pg_catalog."""
PUBLIC = 2200
"""pg_namespace.oid of public."""
INFORMATION = 13207
"""pg_namespace.oid of information_schema."""
DP = 16384
"""pg_namespace.oid of dp."""
OWNER = 10
"""pg_roles.oid of the role that owns everything."""
HEAP = 2
"""pg_am.oid of heap."""
BTREE = 403
"""pg_am.oid of btree."""
SCHEMAS = {"pg_catalog": CATALOGUE, "public": PUBLIC, "information_schema": INFORMATION, "dp": DP}

_OFF_PATH = (13000, 1 << 20)
"""OIDs of relations and functions that need a qualified name: those of information_schema and dp."""


def schema_oid(name: str) -> int:
    """pg_namespace.oid."""
    return SCHEMAS.get(name) or _hashed("schema", name, _OFF_PATH[1], 1 << 31)


def _hashed(kind: str, name: str, low: int, high: int) -> int:
    digest = hashlib.sha256(f"{kind}\0{name}".encode()).digest()
    return low + int.from_bytes(digest[:8], "big") % (high - low)


def relation_oid(schema: str, name: str) -> int:
    """pg_class.oid.

    Example:
        >>> relation_oid("public", "patients") == relation_oid("public", "patients") > 16384
        True
    """
    low, high = (DP + 1, _OFF_PATH[1]) if schema == "dp" else (_OFF_PATH[1], 1 << 31)
    return _hashed(f"relation {schema}", name, low, high)


def constraint_oid(schema: str, table: str, name: str) -> int:
    """pg_constraint.oid."""
    return _hashed(f"constraint {schema} {table}", name, _OFF_PATH[1], 1 << 31)


def row_type_oid(schema: str, name: str) -> int:
    """pg_type.oid of a relation's row type."""
    return _hashed(f"row {schema}", name, _OFF_PATH[1], 1 << 31)


def row_array_oid(schema: str, name: str) -> int:
    """pg_type.oid of the array of a relation's row type."""
    return _hashed(f"rows {schema}", name, _OFF_PATH[1], 1 << 31)


def database(name: str) -> int:
    """pg_database.oid of a data source."""
    return _hashed("database", name, _OFF_PATH[1], 1 << 31)


def rule_oid(schema: str, view: str) -> int:
    """pg_rewrite.oid of a view's rule."""
    return _hashed(f"rule {schema}", view, _OFF_PATH[1], 1 << 31)


def function_oid(schema: str, signature: str) -> int:
    """pg_proc.oid of a function that PostgreSQL does not have."""
    low, high = (DP + 1, _OFF_PATH[1]) if schema == "dp" else (_OFF_PATH[1], 1 << 31)
    return _hashed(f"function {schema}", signature, low, high)


def role_oid(name: str) -> int:
    """pg_roles.oid."""
    return _hashed("role", name, _OFF_PATH[1], 1 << 31)


def visible(oid: str) -> str:
    """SQL for whether an unqualified name finds it (pg_table_is_visible, pg_function_is_visible)."""
    return f"({oid} NOT BETWEEN {_OFF_PATH[0]} AND {_OFF_PATH[1] - 1})"
