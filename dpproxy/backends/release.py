"""The release and answer stages, on an in-memory DuckDB that never sees data: only bounded integers enter.

The release is fetched whole before anything reads it: a relation that drew its noise again at each reading would
show several draws of one value. Few rows are drawn by the function behind the SQL one and pass to the answer as bound
values, since what the engine does around a statement takes longer than to answer it.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import lru_cache
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import udfs
from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import LAW, KeySet, Part, Plan
from dpproxy.backends.columns import FEW, WHOLE, engine_type, key_type
from dpproxy.backends.duckdb.source import Select
from dpproxy.backends.failures import answer_failure, failure
from dpproxy.backends.ordering import in_order
from dpproxy.system.confinement import LOCKED
from dpproxy.system.processor import any_processor
from dpproxy.values.errors import TooComplex
from dpproxy.values.recent import Recent
from udfs.functions.joint import release_columns, release_rows
from udfs.mechanisms import Additive
from udfs.pool import Pool
from udfs.privacy import Exact, Released
from udfs.randomness import Integers

Relations = list[tuple[Part, Released[pa.Table]]]
"""The parts of a plan that were released so far."""
Rows = Sequence[tuple[object, ...]]

LONGEST_ANSWER = 10.0
"""Seconds."""
MANY = 5_000
"""Groups from which on an answer stays in columns."""
ANSWERS = 512
"""Answers of few rows that are kept: a dashboard asks for the same again and again."""
MEMORY = "1GB"
"""For the statements over released values of all sessions together."""


class Histograms:
    """What one statement draws several parts from, by exact stage and the values that it took; read once."""

    def __init__(self) -> None:
        self._read: dict[Hashable, Exact[pa.Table]] = {}

    def of(self, key: Hashable | None, run: Callable[[], Exact[pa.Table]]) -> Exact[pa.Table]:
        """What ``run`` gives; where it has a key, what it gave before."""
        if key is None:
            return run()
        if key not in self._read:
            self._read[key] = run()
        return self._read[key]


class ReleaseStage:
    """Draws and answers; one in a process, used from many threads."""

    def __init__(self, *, threads: int = 1) -> None:
        self._pool = Pool()
        self._drawing = ThreadPoolExecutor(1, "drawing")
        self._lock = threading.Lock()
        self._running: dict[str, duckdb.DuckDBPyConnection] = {}
        self._answered = Recent[tuple[tuple[KeySet, ...], Rows]](ANSWERS)
        config: dict[str, str | bool | int | float | list[str]] = {
            **LOCKED,
            "threads": str(threads),
            "memory_limit": MEMORY,
            "temp_directory": "",  # exact values are never written to a disk
        }
        self._connection = duckdb.connect(":memory:", config=config)
        udfs.register(self._connection, self._pool, macros=False)  # cursors see none
        self._connection.execute("SET lock_configuration = true")

    def prepare(self, part: Part) -> None:
        """Have the draws ready before data is touched, so that their cost cannot depend on it."""
        if part.mechanism is not None:
            self._pool.prepare(part.mechanism, part.groups)
        if part.selection is not None:
            part.selection.keep([1])  # makes its table

    def discover(self, part: Part, run: Callable[[Select], Exact[pa.Table]]) -> Released[pa.Table]:
        """As ``draw``, of the groups that are selected while ``run`` finds them; their noise is drawn meanwhile.

        Errors: ``TooComplex`` for more groups than an answer can have: that they are so many is released.
        """
        noise: list[Future[Integers]] = []
        try:
            exact = run(self._selector(part, noise))
        except BaseException:
            for each in noise:
                each.cancel()  # else other statements wait for draws that nobody takes
            raise
        try:
            return Released(self._many_rows(part, exact.value, noise), part.loss)
        except Exception:  # noqa: BLE001 - whatever it is, it may quote a row
            raise failure("draw") from None

    def _selector(self, part: Part, noise: list[Future[Integers]]) -> Select:
        """What decides, portion by portion, which groups' keys may be shown, by their numbers of units."""
        selection, mechanism, shown = part.selection, part.mechanism, 0
        if selection is None:
            raise AssertionError("a part whose keys are declared")

        def select(counts: Exact[pa.Array]) -> NDArray[np.bool_]:
            nonlocal shown
            kept = selection.keep(counts.value.to_numpy())
            count = int(kept.sum())
            shown += count
            if shown > part.most:
                raise TooComplex(
                    f"the statement has more than {part.most} keys to show; it stays charged",
                    hint="Group by fewer or coarser columns.",
                )
            if mechanism is not None:
                noise.append(self._drawing.submit(self._noise, mechanism, count))
            return kept

        return select

    def _noise(self, mechanism: Additive, count: int) -> Integers:
        with any_processor():
            return self._pool.take(mechanism, count)

    def draw(
        self, part: Part, exact: Exact[pa.Table], points: Released[pa.Table] | None = None
    ) -> Released[pa.Table]:
        """The released relation: ordinal ``o``, keys ``k0...``, and the list ``v`` of released measures.

        ``points`` is the relation that it is drawn around, if it is.
        """
        try:
            if part.mechanism is not None and part.groups <= FEW:
                return Released(self._few_rows(part, part.mechanism, exact.value), part.loss)
            with closing(self._connection.cursor()) as cursor:
                if points is not None:
                    cursor.register("points", points.value)
                return Released(_drawn(cursor, part, exact.value), part.loss)
        except Exception:  # noqa: BLE001 - whatever it is, it may quote a row
            raise failure("draw") from None

    def _few_rows(self, part: Part, mechanism: Additive, exact: pa.Table) -> pa.Table:
        """What ``Part.release`` says: one draw for each declared key; for the engine it is many times the work."""
        table, width = key_table(part.keys), part.measures
        keyed = exact.num_columns - width
        columns = [column.to_pylist() for column in exact.columns]
        keys = zip(*columns[:keyed], strict=True) if keyed else [()] * exact.num_rows
        sums = dict(zip(keys, zip(*columns[keyed:], strict=True), strict=True))
        if len(sums) != exact.num_rows:
            raise AssertionError("a group that is there twice would be drawn for twice")
        nothing = (0,) * width
        wanted = zip(*(column.to_pylist() for column in table.columns[1:]), strict=True) if keyed else [()]
        rows = [[int(number or 0) for number in sums.get(key, nothing)] for key in wanted]
        return table.append_column("v", pa.array(release_rows(self._pool, mechanism, rows), _MEASURES))

    def _many_rows(self, part: Part, exact: pa.Table, noise: Sequence[Future[Integers]]) -> pa.Table:
        """What ``Part.release`` says of groups that were selected, which may be a million."""
        keys = [name for name in exact.column_names if name.startswith("k")]
        measures = [f"m{i}" for i in range(part.measures)]
        shown = in_order(_shown_keys(exact.select(keys + measures)), keys)
        if part.mechanism is None or not len(shown):
            drawn = pa.array([[]] * len(shown), _MEASURES)
        else:
            vectors = np.concatenate([each.result() for each in noise])[: len(shown)]
            drawn = release_columns(part.mechanism, vectors, [shown[name].cast(WHOLE) for name in measures])
        ordinals = pa.array(np.arange(len(shown), dtype=np.int64))
        return shown.select(keys).add_column(0, "o", ordinals).append_column("v", drawn)

    def zeros(self, part: Part) -> Released[pa.Table]:
        """The declared keys of a part that releases nothing."""
        cursor = self._connection.cursor()
        try:
            cursor.register("keys", key_table(part.keys))
            return Released(_fetch(cursor, f"{part.release} ORDER BY o"), part.loss)
        finally:
            cursor.close()

    def value(self, sql: str, relations: Relations, publics: Sequence[pa.Table] = ()) -> object:
        """The one value of a statement over released relations, NULL of no row. Raises as ``answer`` does."""
        [[value]] = self._answer(sql, relations, publics, "", watched=True) or [(None,)]
        return value

    def inputs(
        self, part: Part, relations: Relations, publics: Sequence[pa.Table] = ()
    ) -> tuple[object, ...]:
        """The released values that a part takes; each query is run once. Raises as ``answer`` does."""
        sizes: dict[nodes.Query, int] = {}
        for taken in part.inputs:
            sizes[taken.query] = max(sizes.get(taken.query, 0), taken.row + 1)
        found: dict[nodes.Query, Rows] = {}
        for query, size in sizes.items():
            found[query] = self._answer(printing.text(query), relations, publics, "", watched=True)
            if len(found[query]) > size:
                raise AssertionError("rows that no parameter stands for")
        return tuple(
            found[i.query][i.row][i.place] if i.row < len(found[i.query]) else None for i in part.inputs
        )

    def answer(
        self, plan: Plan, relations: Relations, publics: Sequence[pa.Table] = (), session: str = ""
    ) -> Rows | pa.Table:
        """Rows of the answer stage, within ``LONGEST_ANSWER`` seconds; a table where they may be many.

        Errors: class 22 for what the analyst's own arithmetic over released values does, ``Cancelled``.
        """
        if publics or not _is_little(plan, relations):
            is_large = plan.discovered or plan.groups > MANY
            if is_large and plan.copied:
                [(_, released)] = relations
                return _copied(plan.copied, released.value)
            return self._answer(plan.answer, relations, publics, session, watched=True, as_table=is_large)
        kept = self.again(plan, relations)
        if kept is not None:
            return kept
        rows: Rows = self._answer(plan.answer, relations, (), session, watched=False)
        [(part, released)] = relations
        self._answered.put(_shown(plan, released), (part.keys, rows))
        return rows

    def again(self, plan: Plan, relations: Relations) -> Rows | None:
        """What ``answer`` gave for the same values without public rows, if it is still kept."""
        if not _is_little(plan, relations):
            return None
        [(part, released)] = relations
        kept = self._answered.get(_shown(plan, released))
        return (
            kept[1] if kept is not None and kept[0] is part.keys else None
        )  # equal keys may be shown otherwise

    def constant(self, sql: str, session: str) -> Rows:
        """Rows of a statement that reads nothing. Raises as ``answer``."""
        rows: Rows = self._answer(sql, [], (), session, watched=True)
        return rows

    def _answer(
        self,
        sql: str,
        relations: Relations,
        publics: Sequence[pa.Table],
        session: str,
        *,
        watched: bool,
        as_table: bool = False,
    ) -> Any:  # noqa: ANN401 - rows, or a table
        cursor = self._connection.cursor()
        with self._lock:
            self._running[session] = cursor
        watch = threading.Timer(LONGEST_ANSWER, cursor.interrupt)
        if watched:
            watch.start()
        try:
            heads, values = _relations(cursor, relations)
            heads += [_fetched(cursor, index, table) for index, table in enumerate(publics)]
            with_ = f"WITH {', '.join(heads)} " if heads else ""
            if as_table:
                return cursor.sql(f"{with_}{sql}", params=values).to_arrow_table()
            rows = cursor.execute(f"{with_}{sql}", values).fetchall()
        except Exception as error:  # noqa: BLE001 - the engine's words stay here
            raise failure(answer_failure(error)) from None
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
        self._drawing.shutdown()
        self._pool.close()
        self._connection.close()


def _is_little(plan: Plan, relations: Relations) -> bool:
    """A few rows of one relation cannot take long: each one's work is bounded by the planner."""
    return plan.groups <= FEW and not plan.discovered and len(relations) == 1


def _shown(plan: Plan, released: Released[pa.Table]) -> object:
    laws = released.value[LAW].to_pylist() if LAW in released.value.column_names else ()
    return plan.answer, tuple(laws), tuple(map(tuple, released.value["v"].to_pylist()))


def _drawn(cursor: duckdb.DuckDBPyConnection, part: Part, exact: pa.Table) -> pa.Table:
    cursor.register("exact", exact)
    sql = f"{part.release} ORDER BY o"
    table = key_table(part.keys)
    cursor.register("keys", table)
    if part.groups > FEW:
        return _fetch(cursor, sql)
    drawn = [row[-1] for row in cursor.execute(sql).fetchall()]
    return table.append_column("v", pa.array(drawn, _MEASURES))


def _shown_keys(selected: pa.Table) -> pa.Table:
    """Without groups of a text that PostgreSQL's texts cannot hold; they were selected, so that this tells no more."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as long to load as numpy

    for name in selected.column_names:
        keys = selected[name]
        if keys.type in (pa.string(), pa.large_string()) and not all(map(_is_plain, keys.chunks)):
            selected = selected.filter(pc.less(pc.fill_null(pc.find_substring(keys, "\0"), -1), 0))
    return selected


def _is_plain(texts: pa.Array) -> bool:
    """Whether no byte of them is 0, at a glance: what they are cut from may have one."""
    data = texts.buffers()[2]
    return data is None or bool(np.frombuffer(data, dtype=np.uint8).all())


def _copied(columns: Sequence[str], released: pa.Table) -> pa.Table:
    """What the answer stage makes of these columns, without a round through the engine."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as long to load as numpy

    def column(name: str) -> Any:  # noqa: ANN401 - of pyarrow
        return pc.list_element(released["v"], int(name[1:])) if name.startswith("m") else released[name]

    return pa.table({f"c{place}": column(name) for place, name in enumerate(columns)})


def _fetch(cursor: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return cursor.sql(sql).to_arrow_table()


def _relations(cursor: duckdb.DuckDBPyConnection, relations: Relations) -> tuple[list[str], list[object]]:
    """The relations ``r0...`` as heads of a statement, and the values it is run with."""
    heads: list[str] = []
    values: list[object] = []
    for index, (part, released) in enumerate(relations):
        columns = _columns(part, released.value)
        if columns is None:
            cursor.register(f"drawn{index}", released.value)
            heads.append(f"r{index} AS ({_unpacked(part, released.value, index)})")
            continue
        value = "CAST(? AS {})" if released.value.num_rows == 1 else "unnest(CAST(? AS {}[]))"
        items = ", ".join(f"{value.format(kind)} AS {name}" for name, kind, _ in columns)
        heads.append(f"r{index} AS (SELECT {items})")
        values += (c if released.value.num_rows > 1 else c[0] for _, _, c in columns)
    return heads, values


def _columns(part: Part, released: pa.Table) -> list[tuple[str, str, list[object]]] | None:
    """Name, type and values of each column of few rows; None where there are more, or values of other types."""
    *names, _ = released.column_names
    kinds = [engine_type(released.schema.field(name).type) for name in names]
    if not 1 <= released.num_rows <= FEW or None in kinds:
        return None
    keys = [(name, str(kind), released[name].to_pylist()) for name, kind in zip(names, kinds, strict=True)]
    drawn = [[int(number) for number in row] for row in released["v"].to_pylist()]
    return keys + [(f"m{i}", "HUGEINT", [row[i] for row in drawn]) for i in range(part.measures)]


def _fetched(cursor: duckdb.DuckDBPyConnection, index: int, table: pa.Table) -> str:
    """Public rows as the head of a statement; Arrow has no whole numbers of 128 bits, they come as decimals."""
    cursor.register(f"fetched{index}", table)
    wide = [field.name for field in table.schema if field.type == WHOLE]
    whole = ", ".join(f'CAST("{name}" AS HUGEINT) AS "{name}"' for name in wide)
    replaced = f" REPLACE ({whole})" if wide else ""
    return f"p{index} AS (SELECT *{replaced} FROM fetched{index})"  # noqa: S608 - names of our own


def _unpacked(part: Part, drawn: pa.Table, index: int) -> str:
    keys = "".join(f", {name}" for name in drawn.column_names if name not in ("o", "v"))
    measures = "".join(f", CAST(v[{i + 1}] AS HUGEINT) AS m{i}" for i in range(part.measures))
    return f"SELECT o{keys}{measures} FROM drawn{index}"  # noqa: S608 - numbers only


@lru_cache(maxsize=64)
def key_table(keys: tuple[KeySet, ...]) -> pa.Table:
    """Every combination of declared key values, in declared order, numbered by ``o``."""
    rows = [tuple(v for part in parts for v in part) for parts in product(*(k.rows for k in keys))]
    columns = {"o": pa.array(range(len(rows)), pa.int64())}
    for index, kind in enumerate(t for k in keys for t in k.types):
        columns[f"k{index}"] = pa.array([row[index] for row in rows], key_type(kind))
    return pa.table(columns)


_MEASURES = pa.list_(WHOLE)
