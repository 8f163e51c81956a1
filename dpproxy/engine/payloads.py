"""Released relations as bytes with a descriptor of what was released; and other relations derived from them."""

from collections.abc import Sequence
from io import BytesIO

import pyarrow as pa

from dpproxy.algebra.plan import LAW, Part
from dpproxy.backends.columns import WHOLE
from dpproxy.backends.release import key_table
from dpproxy.engine.laws import with_laws
from dpproxy.planner.reuse.descriptor import Descriptor, read, written
from dpproxy.planner.reuse.rollup import Derivation, Row
from udfs.mechanisms.averaged import Averaged, nearest

_OF = b"dpproxy"
"""The key of the descriptor in the Arrow schema's metadata."""
_MOST = 10**38 - 1
"""What released values saturate at."""


def pack(table: pa.Table, descriptor: Descriptor | None) -> bytes:
    """The relation and its descriptor as bytes, for the release store."""
    if descriptor is not None:
        table = table.replace_schema_metadata({_OF: written(descriptor)})
    sink = BytesIO()  # pyarrow's own takes twice as long: what it holds would be copied
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def unpack(payload: bytes) -> pa.Table:
    """The relation that ``packed`` made bytes of."""
    return pa.ipc.open_stream(payload).read_all()


def descriptor_of(payload: bytes) -> Descriptor | None:
    """The relation's descriptor; None where it has none, and nothing else can be derived from it."""
    metadata = pa.ipc.open_stream(payload).schema.metadata or {}
    return read(metadata[_OF]) if _OF in metadata else None


def groups_of(table: pa.Table) -> list[Row]:
    """The keys of each row, in the order of the rows."""
    columns = [table[n].to_pylist() for n in table.column_names if n.startswith("k")]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def wanted_of(part: Part) -> list[Row]:
    """The declared keys of a part, in order."""
    return groups_of(key_table(part.keys))


def averaged(
    tables: Sequence[pa.Table], means: Sequence[Sequence[Averaged]], laws: Sequence[int]
) -> pa.Table:
    """The relation of a part, each value the mean of those in ``tables``; ``means`` are those of each law of a row."""
    drawn = [table["v"].to_pylist() for table in tables]
    lists = [
        [
            mean.of([int(v) for v in values])
            for mean, values in zip(means[law], zip(*rows, strict=True), strict=True)
        ]
        for law, *rows in zip(laws, *drawn, strict=True)
    ]
    return _made(tables[0], lists, laws)


def weighed(
    tables: tuple[pa.Table, pa.Table], weights: Sequence[Sequence[int]], laws: Sequence[int]
) -> pa.Table:
    """The relation of a part, between two: of each law of a row, the weights of the second one's figures."""
    first, second = (table["v"].to_pylist() for table in tables)
    lists = [
        [int(a) + nearest(w * int(b - a)) for w, a, b in zip(weights[law], one, other, strict=True)]
        for law, one, other in zip(laws, first, second, strict=True)
    ]
    return _made(tables[0], lists, laws)


def together(tables: Sequence[pa.Table], signs: Sequence[int], laws: Sequence[int]) -> pa.Table:
    """The relation of a part, each value the sum of those in ``tables``, some taken away."""
    drawn = [[[int(v) for v in row] for row in table["v"].to_pylist()] for table in tables]
    lists = [
        [
            max(-_MOST, min(_MOST, sum(s * v for s, v in zip(signs, values, strict=True))))
            for values in zip(*rows, strict=True)
        ]
        for rows in zip(*drawn, strict=True)
    ]
    return _made(tables[0], lists, laws)


def taken(tables: Sequence[pa.Table], weights: Sequence[Sequence[int]], laws: Sequence[int]) -> pa.Table:
    """The relation of a part, each value so many of the only ones of several."""
    drawn = [[int(v) for (v,) in table["v"].to_pylist()] for table in tables]
    lists = [
        [max(-_MOST, min(_MOST, sum(w * v for w, v in zip(of, row, strict=True)))) for of in weights]
        for row in zip(*drawn, strict=True)
    ]
    return _made(tables[0], lists, laws)


def _made(like: pa.Table, lists: Sequence[Sequence[int]], laws: Sequence[int]) -> pa.Table:
    keys = like.select([n for n in like.column_names if n not in (LAW, "v")])
    return with_laws(keys, laws).append_column("v", pa.array(lists, pa.list_(WHOLE)))


def derive(table: pa.Table, derivation: Derivation, part: Part, laws: Sequence[int] = ()) -> pa.Table:
    """The relation of a part, whose values are sums of another relation's; ``laws`` are those of its rows."""
    added = derivation.added([[int(v) for v in values] for values in table["v"].to_pylist()])
    lists = [[max(-_MOST, min(_MOST, v)) for v in row] for row in added]
    return with_laws(key_table(part.keys), laws).append_column("v", pa.array(lists, pa.list_(WHOLE)))
