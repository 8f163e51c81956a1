"""The release and answer stages, on an in-memory DuckDB that never sees data: only bounded integers enter.

The release is fetched whole before anything reads it: a relation that drew its noise again at each reading would
show several draws of one value. A statement without keys has one row: it passes from stage to stage as bound values,
since to register an Arrow table takes longer than to answer from it.
"""

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product

import duckdb
import pyarrow as pa

import udfs
from dpproxy.backends.columns import FEW, WHOLE, key_type
from dpproxy.backends.duckdb import LOCKED
from dpproxy.errors import Cancelled, DivisionByZero, Internal, NumberOutOfRange, Refusal
from dpproxy.plan import KeyColumn, Plan
from dpproxy.policy.model import Scalar
from udfs.pool import Pool
from udfs.privacy import Exact, Released

LONGEST_ANSWER = 10.0
"""Seconds."""
_ERRORS: dict[type[duckdb.Error], tuple[type[Refusal], str]] = {
    duckdb.OutOfRangeException: (NumberOutOfRange, "a number over released values is out of range"),
    duckdb.ConversionException: (NumberOutOfRange, "a number over released values is out of range"),
    duckdb.InvalidInputException: (DivisionByZero, "a function over released values is not defined there"),
}


class Release:
    """Draws and answers; one in a process, used from many threads."""

    def __init__(self, *, threads: int = 1) -> None:
        self._pool = Pool()
        self._lock = threading.Lock()
        self._running: dict[str, duckdb.DuckDBPyConnection] = {}
        self._connection = duckdb.connect(":memory:", config={**LOCKED, "threads": str(threads)})
        udfs.register(self._connection, self._pool)
        self._connection.execute("SET lock_configuration = true")

    def prepare(self, plan: Plan) -> None:
        """Have the draws ready before data is touched, so that their cost cannot depend on it."""
        if plan.mechanism is not None:
            self._pool.prepare(plan.mechanism, plan.groups)

    def draw(self, plan: Plan, exact: Exact[pa.Table]) -> Released[pa.Table]:
        """The released relation: ordinal ``o``, keys ``k0...``, and the list ``v`` of released measures."""
        cursor = self._connection.cursor()
        try:
            if not plan.keys:
                bound, values = _bound("exact", exact.value.to_pylist()[0])
                [(ordinal, drawn)] = cursor.execute(f"{bound} {plan.release}", values).fetchall()
                return Released(_one_row(ordinal, drawn), plan.loss)
            cursor.register("keys", key_table(plan.keys))
            cursor.register("exact", exact.value)
            sql = f"{plan.release} ORDER BY k.o"
            if plan.groups <= FEW:
                drawn = [row[-1] for row in cursor.execute(sql).fetchall()]
                return Released(
                    key_table(plan.keys).append_column("v", pa.array(drawn, _MEASURES)), plan.loss
                )
            return Released(_fetch(cursor, sql), plan.loss)
        except (duckdb.Error, RuntimeError):
            raise Internal("the release could not be drawn; it stays charged") from None
        finally:
            cursor.close()

    def keys_only(self, plan: Plan) -> Released[pa.Table]:
        """The declared keys of a plan that releases nothing."""
        cursor = self._connection.cursor()
        try:
            cursor.register("keys", key_table(plan.keys))
            return Released(_fetch(cursor, f"{plan.release} ORDER BY k.o"), plan.loss)
        finally:
            cursor.close()

    def answer(self, plan: Plan, released: Released[pa.Table], session: str = "") -> list[tuple[object, ...]]:
        """Rows of the answer stage, within ``LONGEST_ANSWER`` seconds.

        Errors: class 22 for what the analyst's own arithmetic over released values does, ``Cancelled``.
        """
        cursor = self._connection.cursor()
        with self._lock:
            self._running[session] = cursor
        watch = threading.Timer(LONGEST_ANSWER, cursor.interrupt)
        if plan.groups > FEW:  # fewer rows cannot take long: each one's work is bounded by the planner
            watch.start()
        try:
            values: list[object] = []
            if plan.keys:
                cursor.register("drawn", released.value)
                source = f"WITH released AS ({_unpacked(plan)})"
            else:
                measures = released.value["v"][0].as_py()
                source, values = _bound("released", {"o": 0, **{f"m{i}": m for i, m in enumerate(measures)}})
            rows: list[tuple[object, ...]] = cursor.execute(f"{source} {plan.answer}", values).fetchall()
        except duckdb.InterruptException:
            raise Cancelled("canceling statement: cancelled, or too long over released values") from None
        except duckdb.Error as error:
            kind, message = next(
                (found for cls, found in _ERRORS.items() if isinstance(error, cls)),
                (Internal, "the answer could not be computed from the released values"),
            )
            raise kind(message) from None
        else:
            return rows
        finally:
            watch.cancel()
            with self._lock:
                self._running.pop(session, None)
            cursor.close()

    def interrupt(self, session: str) -> None:
        """Stop the answer stage of a session, from any thread."""
        with self._lock:
            cursor = self._running.get(session)
            if cursor is not None:
                cursor.interrupt()

    def close(self) -> None:
        """Drop the draws and the engine."""
        self._pool.close()
        self._connection.close()


def _fetch(cursor: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return cursor.sql(sql).to_arrow_table()


def _bound(name: str, row: Mapping[str, object]) -> tuple[str, list[object]]:
    """A relation of one row of whole numbers, as the head of a statement and the values it is run with."""
    columns = ", ".join(f"CAST(? AS HUGEINT) AS {column}" for column in row)
    return f"WITH {name} AS (SELECT {columns})", list(row.values())


def _one_row(ordinal: int, drawn: Sequence[int]) -> pa.Table:
    """The released relation of a statement without keys."""
    return pa.table({"o": pa.array([ordinal], pa.int64()), "v": pa.array([drawn], _MEASURES)})


def _unpacked(plan: Plan) -> str:
    keys = "".join(f", k{i}" for i in range(len(plan.keys)))
    count = 0 if plan.mechanism is None else len(plan.mechanism.widths)
    measures = "".join(f", CAST(v[{i + 1}] AS HUGEINT) AS m{i}" for i in range(count))
    return f"SELECT o{keys}{measures} FROM drawn"  # noqa: S608 - numbers only


@lru_cache(maxsize=64)
def key_table(keys: tuple[KeyColumn, ...]) -> pa.Table:
    """Every combination of declared key values, in declared order, numbered by ``o``."""
    rows: list[tuple[Scalar | None, ...]] = list(product(*(k.values for k in keys)))
    columns = {"o": pa.array(range(len(rows)), pa.int64())}
    for index, key in enumerate(keys):
        columns[f"k{index}"] = pa.array([row[index] for row in rows], key_type(key))
    return pa.table(columns)


_MEASURES = pa.list_(WHOLE)
