"""Expressions over declared values, on an engine that holds no data: what goes in and what comes out is public."""

import threading
from functools import cache, lru_cache

import duckdb
import pyarrow as pa
from msgspec import Struct

from dpproxy.analysis.keys import Days, Value, Values
from dpproxy.analysis.typed import Typed
from dpproxy.system.confinement import LOCKED
from dpproxy.values.errors import Internal
from dpproxy.values.pgtypes import BOOL, DATE, TEXTS, TIMESTAMP, TIMESTAMPTZ

_LOCK = threading.Lock()
_WHOLE = pa.decimal128(38, 0)
_TYPES = {
    BOOL.oid: pa.bool_(),
    DATE.oid: pa.date32(),
    TIMESTAMP.oid: pa.timestamp("us"),
    TIMESTAMPTZ.oid: pa.timestamp("us"),
    **dict.fromkeys(TEXTS, pa.string()),
}


class Input(Struct, frozen=True):
    """What an expression can be, in its physical form and in order: whole numbers of the last digit, or floats."""

    kind: pa.DataType
    values: tuple[Value, ...] | range | Days


def input_of(typed: Typed, values: Values) -> Input:
    """Values of a compiled expression."""
    kind = _TYPES.get(typed.type.oid)
    if kind is None:
        kind = pa.float64() if typed.scale is None else _WHOLE
    return Input(kind, values if isinstance(values, range | Days) else tuple(values))


@lru_cache(maxsize=256)
def image(sql: str, inputs: tuple[Input, ...]) -> tuple[Value, ...]:
    """Every value of ``sql`` over all combinations of its columns ``b0``, ``b1``, ... in order of first appearance.

    Errors: ``Internal`` where the engine fails: what is compiled is total.
    """
    sources = ", ".join(_source(i, given.values) for i, given in enumerate(inputs))
    order = "0"
    for index, given in enumerate(inputs):
        order = f"({order}) * {len(given.values)} + o{index}"
    query = (
        f"SELECT v FROM (SELECT {sql} AS v, {order} AS o {f'FROM {sources}' if inputs else ''}) "  # noqa: S608
        "GROUP BY v ORDER BY min(o)"
    )
    try:
        with _LOCK:
            return _run(query, inputs)
    except duckdb.Error:
        raise Internal("the keys could not be derived from the declared values") from None


@lru_cache(maxsize=256)
def holding(sql: str, columns: tuple[tuple[str, Input], ...]) -> tuple[bool, ...]:
    """For each row of columns of one length, whether a condition over them is true.

    Errors: ``Internal`` where the engine fails: what is compiled is total.
    """
    table = {name: pa.array(tuple(given.values), given.kind) for name, given in columns}
    count = len(next(iter(table.values())))
    with _LOCK:
        cursor = _engine().cursor()
        try:
            cursor.register("keys", pa.table({"o": pa.array(range(count), pa.int64()), **table}))
            true = {o for (o,) in cursor.execute(f"SELECT o FROM keys WHERE {sql}").fetchall()}  # noqa: S608
        except duckdb.Error:
            raise Internal("the keys could not be derived from the declared values") from None
        finally:
            cursor.close()
    return tuple(o in true for o in range(count))


def _source(index: int, values: tuple[Value, ...] | range | Days) -> str:
    """A relation ``a<n>`` of ordinals ``o<n>`` and values ``b<n>``; what is regular is counted by the engine."""
    name = f"a{index}"
    if isinstance(values, range):
        made = f"{values.start} + i"
    elif isinstance(values, Days):
        made = f"CAST(DATE '{values.first.isoformat()}' + to_days(i) AS DATE)"
    else:
        return name
    return f"(SELECT i AS o{index}, {made} AS b{index} FROM range({len(values)}) AS r(i)) AS {name}"  # noqa: S608


def _run(query: str, inputs: tuple[Input, ...]) -> tuple[Value, ...]:
    cursor = _engine().cursor()
    try:
        for index, given in enumerate(inputs):
            if isinstance(given.values, range | Days):
                continue
            columns = {
                f"o{index}": pa.array(range(len(given.values)), pa.int64()),
                f"b{index}": pa.array(given.values, given.kind),
            }
            cursor.register(f"a{index}", pa.table(columns))
        return tuple(value for (value,) in cursor.execute(query).fetchall())
    finally:
        cursor.close()


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={**LOCKED, "threads": "1"})
    connection.execute("SET lock_configuration = true")
    return connection
