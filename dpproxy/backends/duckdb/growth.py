"""How prepared tables are made: by portions of people, and of the table of fewer files where files were added.

After new files only the rows of units that these touch are cut again.

A snapshot of Parquet files grows at its end alone, so the rows of files that were added have higher row ids than all
others. A prepared table of fewer files is taken over, and in one transaction loses all rows of the units of which there
are new rows, and gets those that count now. For all other units the query has the same rows as before: it selects and
joins, so that a new row of its result is made of a new row of the data, and rows beyond MAX ROWS are left out by unit.
Any other query is built whole.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import cast

import duckdb
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import PREPARED
from dpproxy.sql.quoting import identifier

LAYOUT = 4
"""Goes up when the same files shall be imported anew."""
NOTES = "dpproxy_files"
"""The schema of a snapshot that says which files it is of."""
EARLIER = "earlier_"
"""Begins the name of a table that is of fewer files, and that no statement reads."""
PORTION = 16_000_000
"""Rows that are cut at once: a few gigabytes are sorted then."""
FIRST_COUNT = 2
"""The parameter with the number of rows that the first table had; the secret is parameter 1."""
_NOTES = f"{PREPARED}.notes"
_PLAIN = (
    nodes.Select, nodes.Subquery, nodes.Table, nodes.Join, nodes.ColumnRef, nodes.Named, nodes.Binary, nodes.And,
    nodes.Not, nodes.IsNull, nodes.InQuery, nodes.Paren,
)  # fmt: skip
"""Of these, rows of somebody are made."""


class Growth(Struct, frozen=True):
    """How the rows of a prepared table follow those that were added, in the engine's SQL.

    Parameters from ``FIRST_COUNT`` on are the numbers of rows that ``tables`` had.
    """

    tables: Sequence[str]
    """The tables that are read."""
    unit: str
    """The column of the unit; empty where each row is one, and the new ones are added."""
    touched: str
    """The units of which there may be other rows than before, or nothing."""
    rows: str
    """The rows of units in ``touched``, or those of the new rows."""
    portion: str = ""
    """The rows of a part of all units.

    It and ``rows`` have two parameters more: the number of parts, and which of them, where ``unit`` is not empty.
    """


def growth(query: nodes.Node) -> Growth | None:
    """How the table of a query follows the data; None where it has to be built whole."""
    if not isinstance(query, nodes.Select) or any(table.path for table in query.find_all(nodes.Table)):
        return None
    if any(_is_of_others(node) for item in query.items for node in item.walk()):
        return None
    if isinstance(query.source, nodes.Table) and query == nodes.Select(query.items, query.source):
        table = query.source
        return Growth((table.name,), "", "", printing.text(replace(query, source=_added(table, FIRST_COUNT))))
    found = _owned(query)
    if found is None:
        return None
    owned, unit, whose = found
    places = list(dict.fromkeys(t.name for t in owned.find_all(nodes.Table)))
    read = sum(1 for _ in owned.find_all(nodes.Table))
    if sum(1 for _ in query.find_all(nodes.Table)) != read:
        return None
    units = (nodes.Named(whose, "unit"),)
    touched = " UNION ".join(
        printing.text(replace(_with_new(owned, number, places), items=units)) for number in range(read)
    )
    among = nodes.InQuery(
        whose, nodes.Select((nodes.ColumnRef("unit"),), nodes.Table("touched", path=("temp",)))
    )
    last = FIRST_COUNT + len(places)
    parts, part = (
        nodes.Cast(nodes.Parameter(last + n), "UBIGINT") for n in range(2)
    )  # else of 128 bits, and slow
    portion = nodes.Binary("=", nodes.Binary("%", nodes.Call("hash", (whose,)), parts), part)
    rows = printing.text(_only(query, owned, among, portion))
    return Growth(tuple(places), unit, touched, rows, printing.text(_only(query, owned, portion)))


def _only(query: nodes.Select, owned: nodes.Select, *conditions: nodes.Expr) -> nodes.Node:
    """The query over those of its rows of somebody that meet conditions."""
    given = () if owned.where is None else (owned.where,)
    some = replace(owned, where=nodes.And((*given, *conditions)))
    return query.transform(lambda node: some if node is owned else None)


def _is_of_others(node: nodes.Node) -> bool:
    """What makes a row of the table of more than one row below."""
    is_aggregate = isinstance(node, nodes.Call) and node.name in nodes.AGGREGATES
    return is_aggregate or isinstance(node, nodes.Window | nodes.Select | nodes.Combined)


def _owned(query: nodes.Select) -> tuple[nodes.Select, str, nodes.Expr] | None:
    """The rows of everybody below the cuts by unit, the column of the table that has the unit, and what is in it."""
    units = set[nodes.Expr]()
    below, is_top = query, True
    while (
        isinstance(below.source, nodes.Subquery)
        and isinstance(below.source.query, nodes.Select)
        and not below.joins
    ):
        if below.qualify is not None:
            window = below.qualify.left if isinstance(below.qualify, nodes.Binary) else None
            if below.items != (nodes.Star(),) or not isinstance(window, nodes.Window):
                return None
            units.add(window.partition[0])
        elif not is_top:
            return None
        if below != nodes.Select(below.items, below.source, qualify=below.qualify):
            return None
        below, is_top = below.source.query, False
    if len(units) != 1 or not all(type(node) in _PLAIN for node in below.walk()):
        return None
    [unit] = units
    selects = list(below.find_all(nodes.Select))
    named = [item for item in below.items if isinstance(item, nodes.Named)]
    whose = [item.value for item in named if nodes.ColumnRef(item.name) == unit]
    held = [
        n.name
        for n in named
        if [n.value] == whose and nodes.Named(nodes.ColumnRef(n.name), n.name) in query.items
    ]
    if not held:
        return None
    monotone = all(
        s == nodes.Select(s.items, s.source, s.joins, s.where, distinct=s.distinct) for s in selects
    ) and all(not j.kind for j in below.find_all(nodes.Join))
    positive = all(isinstance(n.value, nodes.IsNull) for n in below.find_all(nodes.Not))
    return (below, held[0], whose[0]) if monotone and positive and not below.distinct else None


def _with_new(owned: nodes.Select, number: int, places: Sequence[str]) -> nodes.Select:
    """Its rows that are made of a new row in one of the places where a table is read."""
    seen = -1

    def only_new(node: nodes.Node) -> nodes.Node | None:
        nonlocal seen
        if not isinstance(node, nodes.Table):
            return None
        seen += 1
        return _added(node, FIRST_COUNT + places.index(node.name)) if seen == number else None

    return cast("nodes.Select", owned.transform(only_new))


def _added(table: nodes.Table, count: int) -> nodes.Subquery:
    """The rows of a table that were added since it had so many."""
    new = nodes.Binary(">=", nodes.ColumnRef("rowid"), nodes.Parameter(count))
    return nodes.Subquery(
        nodes.Select((nodes.Star(),), nodes.Table(table.name), where=new),
        table.alias or nodes.Bare(table.name),
    )


def build(
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    sql: str,
    parameters: Mapping[str, object],
    grown: Growth | None,
) -> None:
    """Make a prepared table, of the one of fewer files if there is one, and note what it is of."""
    if grown is None:
        cursor.execute(f"CREATE TABLE {_place(name)} AS {sql}", dict(parameters))
        return
    query = hashlib.sha256(sql.encode()).hexdigest()
    cursor.execute("BEGIN")
    try:
        is_noted = _is_noted(cursor, grown.tables)
        earlier = _earlier(cursor, query, grown) if is_noted else None
        if earlier is not None:
            _follow(cursor, *earlier, grown, parameters)
            cursor.execute(f"ALTER TABLE {_place(earlier[0])} RENAME TO {identifier(name)}")
        else:
            whole = f"CREATE TABLE {_place(name)} AS {{}}"
            rows = _number(cursor, f"main.{identifier(grown.tables[0])}")
            if not grown.unit or rows <= PORTION:
                cursor.execute(whole.format(sql), dict(parameters))
            else:
                _by_portions(
                    cursor,
                    (whole, f"INSERT INTO {_place(name)} {{}}"),
                    grown.portion,
                    grown,
                    parameters,
                    rows,
                )
        if is_noted:
            cursor.execute(f"DELETE FROM {_NOTES}.built WHERE query = ?", [query])  # noqa: S608
            for table in grown.tables:
                rows = _number(cursor, f"main.{identifier(table)}")
                cursor.execute(
                    f"INSERT INTO {_NOTES}.built VALUES (?, ?, ?, ?, 0)",  # noqa: S608
                    [name, query, table, rows],
                )
        cursor.execute("COMMIT")
    except BaseException:
        cursor.execute("ROLLBACK")
        raise


def _by_portions(
    cursor: duckdb.DuckDBPyConnection,
    statements: tuple[str, str],
    rows: str,
    grown: Growth,
    parameters: Mapping[str, object],
    number: int,
) -> None:
    """Cut the rows of so many units at once that those of a part, about so many of ``number``, are sorted in memory."""
    parts, last = -(-number // PORTION) or 1, FIRST_COUNT + len(grown.tables)
    for part in range(parts):
        given = {**parameters, str(last): parts, str(last + 1): part}
        cursor.execute(statements[part > 0].format(rows), given)


def _number(cursor: duckdb.DuckDBPyConnection, place: str) -> int:
    """Of the rows of a table."""
    [(number,)] = cursor.execute(f"SELECT count(*) FROM {place}").fetchall()  # noqa: S608
    return int(number)


def _place(name: str) -> str:
    return f"{PREPARED}.main.{identifier(name)}"


def _is_noted(cursor: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> bool:
    """Note the files that the data are of, if they are a snapshot of some, and their row ids can be read."""
    [(data,)] = cursor.execute("SELECT current_database()").fetchall()
    of_files = "SELECT 1 FROM duckdb_tables() WHERE database_name = ? AND schema_name = ? AND table_name = ?"
    if not cursor.execute(of_files, [data, NOTES, importer()]).fetchall():
        return False
    shadowed = "SELECT 1 FROM duckdb_columns() WHERE database_name = ? AND lower(column_name) = 'rowid'"
    if cursor.execute(f"{shadowed} AND table_name IN (SELECT unnest(?))", [data, list(tables)]).fetchall():
        return False
    cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {_NOTES}")
    cursor.execute(
        f"CREATE TABLE IF NOT EXISTS {_NOTES}.files AS "  # noqa: S608
        f"SELECT rowid AS n, name, size, modified FROM {noted_files()}"
    )
    cursor.execute(
        f"CREATE TABLE IF NOT EXISTS {_NOTES}.built "
        "(name VARCHAR, query VARCHAR, source VARCHAR, rows BIGINT, loads INTEGER)"
    )
    return True


def _earlier(
    cursor: duckdb.DuckDBPyConnection, query: str, grown: Growth
) -> tuple[str, dict[str, int]] | None:
    """The table of a query over fewer files, and how many rows each table had."""
    found = cursor.execute(
        f"SELECT name, source, rows FROM {_NOTES}.built WHERE query = ? AND starts_with(name, '{EARLIER}')",  # noqa: S608
        [query],
    ).fetchall()
    rows = {source: count for _, source, count in found}
    return (found[0][0], rows) if rows.keys() == set(grown.tables) else None


def _follow(
    cursor: duckdb.DuckDBPyConnection,
    earlier: str,
    had: Mapping[str, int],
    grown: Growth,
    parameters: Mapping[str, object],
) -> None:
    """Bring a table up to the rows that there are now."""
    place, counts = (
        _place(earlier),
        {str(FIRST_COUNT + n): had[table] for n, table in enumerate(grown.tables)},
    )
    insert = f"INSERT INTO {place} {{}}"
    if not grown.unit:
        cursor.execute(insert.format(grown.rows), counts)
        return
    held = _number(cursor, place)
    cursor.execute(f"CREATE TEMP TABLE touched AS {grown.touched}", counts)
    cursor.execute(f"DELETE FROM {place} WHERE {identifier(grown.unit)} IN (SELECT unit FROM temp.touched)")  # noqa: S608
    [(deleted,)] = cursor.fetchall()
    rows = _number(cursor, f"main.{identifier(grown.tables[0])}")
    about = rows * deleted // held + rows - had[grown.tables[0]] if held else rows
    _by_portions(cursor, (insert, insert), grown.rows, grown, parameters, about)
    cursor.execute("DROP TABLE temp.touched")


def importer() -> str:
    """What another version does not go on with; names the table of the files that were imported."""
    return f"{LAYOUT}/{duckdb.__version__}"


def noted_files() -> str:
    """The table of a snapshot that says of which files it is."""
    return f"{identifier(NOTES)}.{identifier(importer())}"
