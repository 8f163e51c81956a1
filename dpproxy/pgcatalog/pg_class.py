"""pg_class: the relations a caller may see, and the catalogue itself."""

from collections.abc import Iterable, Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.keys import Key, of_tables, with_triggers
from dpproxy.pgcatalog.pg_constraint import checks
from dpproxy.pgcatalog.table import Row, Table, table
from dpproxy.pgcatalog.view import OWNER, CatalogueView
from dpproxy.sql.quoting import quoted

_DEFAULTS: dict[str, object] = {
    "reloftype": 0,
    "relowner": oids.OWNER,
    "relfilenode": 0,
    "reltablespace": 0,
    "relpages": 0,
    "reltuples": -1,
    "relallvisible": 0,
    "reltoastrelid": 0,
    "relhasindex": False,
    "relisshared": False,
    "relpersistence": "p",
    "relchecks": 0,
    "relhasrules": False,
    "relhastriggers": False,
    "relhassubclass": False,
    "relrowsecurity": False,
    "relforcerowsecurity": False,
    "relispopulated": True,
    "relreplident": "n",
    "relispartition": False,
    "relrewrite": 0,
    "relfrozenxid": 0,
    "relminmxid": 0,
}
"""The same for every relation: no statistics, no sizes."""


def acl(view: CatalogueView) -> list[str]:
    """Who may do what with a relation, as aclitems: the owner and the caller may read."""
    names = [name if name.isalnum() else quoted(name) for name in (OWNER, view.user)]
    return [f"{name}=r/{OWNER}" for name in dict.fromkeys(names)]


def _user_rows(view: CatalogueView) -> Iterator[Row]:
    indexes = list(of_tables(view))
    keyed, triggered = {key.table.name for key in indexes}, with_triggers(view)
    yield from (_of_index(key) for key in indexes)
    for schema, relation in view.with_schemas():
        yield _DEFAULTS | {
            "oid": oids.relation_oid(schema, relation.name),
            "relname": relation.name,
            "relnamespace": oids.SCHEMAS[schema],
            "reltype": oids.row_type_oid(schema, relation.name),
            "relam": oids.HEAP if relation.kind == "r" else 0,
            "relreplident": "d" if relation.kind == "r" else "n",
            "relkind": relation.kind,
            "relhasrules": relation.kind == "v",
            "relnatts": len(relation.columns),
            "relacl": acl(view),
            "relchecks": sum(1 for _ in checks(relation)),
            "relhasindex": schema == "public" and relation.name in keyed,
            "relhastriggers": schema == "public" and relation.name in triggered,
        }


def _of_index(key: Key) -> Row:
    return _DEFAULTS | {
        "oid": key.index_oid,
        "relname": key.index,
        "relnamespace": oids.SCHEMAS[key.schema],
        "reltype": 0,
        "relam": oids.BTREE,
        "relkind": "i",
        "relnatts": len(key.columns),
    }


def _own_rows(tables: Iterable[Table]) -> tuple[Row, ...]:
    return tuple(
        _DEFAULTS
        | {
            "oid": table.oid,
            "relname": table.name,
            "relnamespace": oids.SCHEMAS[table.schema],
            "reltype": 0,
            "relam": oids.HEAP if table.kind == "r" else 0,
            "relkind": table.kind,
            "relnatts": len(table.columns),
        }
        for table in tables
    )


def pg_class(others: Iterable[Table]) -> Table:
    """The table, which lists itself and the other relations of the catalogue."""

    def rows(view: CatalogueView) -> Iterator[Row]:
        yield from _user_rows(view)
        yield from own

    made = table("pg_catalog", "pg_class", rows)
    own = _own_rows((made, *others))
    return made
