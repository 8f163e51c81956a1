"""Facts of PostgreSQL 15 in the files of ``dpproxy/pgcatalog/facts``, from a running server.

``python -m tests.postgres_facts`` writes them anew, ``--check`` compares. What a file is about stands in the file: one
row for each key (its first column), and the columns of its header. A row is added by repeating another one under its
key, a column by its name with a type, and writing the files anew. The words of the grammar are all there.
"""

import sys
from pathlib import Path

import psycopg
from psycopg import sql

from dpproxy.pgcatalog import oids
from tests.postgres import running

FACTS = Path(__file__).parents[1] / "dpproxy" / "pgcatalog" / "facts"
VERSION = 15
_RELATIONS = f"""SELECT nspname || '.' || relname AS relation, relkind AS kind,
    CASE nspname WHEN 'information_schema' THEN c.oid::int8 - n.oid::int8 + {oids.INFORMATION} ELSE c.oid END AS oid,
    (SELECT string_agg(attname || ':' || coalesce(base.typname, own.typname), ' ' ORDER BY attnum)
     FROM pg_attribute JOIN pg_type own ON own.oid = atttypid LEFT JOIN pg_type base ON base.oid = own.typbasetype
     WHERE attrelid = c.oid AND attnum > 0) AS columns
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"""
"""Numbers in information_schema are counted from the schema's: initdb numbers the locales of the machine before it."""
SOURCES = {
    "keywords": "SELECT * FROM pg_get_keywords()",
    "pg_aggregate": """SELECT a.*, number AS aggfnoid, number::regprocedure AS signature
      FROM (SELECT aggfnoid::oid AS number, * FROM pg_aggregate) AS a (number, function)""",
    "pg_am": "SELECT * FROM pg_am",
    "pg_collation": "SELECT * FROM pg_collation",
    "pg_opclass": "SELECT * FROM pg_opclass WHERE opcmethod = 403",
    "pg_proc": "SELECT *, oid::regprocedure AS signature FROM pg_proc",
    "pg_tablespace": "SELECT * FROM pg_tablespace",
    "pg_type": "SELECT *, format_type(oid, NULL) AS display FROM pg_type WHERE typnamespace = 11",
    "relations": _RELATIONS,
}
"""By file, where its rows come from."""


def text(connection: psycopg.Connection, name: str) -> str:
    """What a file is to contain."""
    _, header, *rows = (FACTS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    columns = [sql.Identifier(column.partition(":")[0]) for column in header.split("\t")]
    shown = sql.SQL(", ").join(sql.SQL("coalesce({}::text, '\\N')").format(column) for column in columns)
    query = sql.SQL('SELECT {} FROM ({}) source ORDER BY {}::text COLLATE "C"')
    cells = connection.execute(query.format(shown, sql.SQL(SOURCES[name]), columns[0])).fetchall()
    by_key = {row[0]: "\t".join(row) for row in cells}
    keys = by_key if name == "keywords" else [row.partition("\t")[0] for row in rows]
    first = f"# PostgreSQL {VERSION}, by python -m tests.postgres_facts"
    return "\n".join([first, header, *(by_key[key] for key in keys)]) + "\n"


def main() -> int:
    with running() as server, psycopg.connect(server.url()) as connection:
        version = connection.info.server_version // 10000
        if version != VERSION:
            sys.exit(f"the facts are those of PostgreSQL {VERSION}, and {version} is installed")
        made = {FACTS / f"{name}.tsv": text(connection, name) for name in SOURCES}
    differ = [path for path, content in made.items() if path.read_text(encoding="utf-8") != content]
    for path in differ:
        print(f"{path.name} differs")
        if "--check" not in sys.argv:
            path.write_text(made[path], encoding="utf-8")
    return int("--check" in sys.argv and bool(differ))


if __name__ == "__main__":
    sys.exit(main())
