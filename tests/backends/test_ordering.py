"""The order is that of pyarrow, whatever the keys are."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.backends.ordering import in_order

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)
TEXTS = st.builds(
    "{}{}{}".format, st.sampled_from(["", "a", "https://"]), st.text("ab\x01é日", max_size=9), st.text()
)


@given(
    keys=st.sets(NUMBERS | st.none())
    | st.sets(NUMBERS, min_size=1)
    | st.sets(TEXTS | st.none())
    | st.sets(TEXTS),
    data=st.data(),
)
def test_groups_are_in_the_order_of_their_keys(keys: set[int | str | None], data: st.DataObject):
    found = data.draw(st.permutations(sorted(keys, key=str)))
    kind = pa.string() if any(isinstance(key, str) for key in keys) else pa.int64()
    table = pa.table({"k0": pa.array(found, kind), "m0": pa.array(range(len(found)), pa.int64())})
    cut = data.draw(st.integers(0, len(found)))
    chunks = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    assert in_order(chunks, ["k0"]).to_pylist() == table.sort_by("k0").to_pylist()


def test_several_keys_and_other_types():
    table = pa.table({"k0": [True, False, None, True], "k1": [2, 1, 0, 1]})
    assert in_order(table, ["k0", "k1"])["k1"].to_pylist() == [1, 1, 2, 0]
    assert in_order(table.slice(0, 2), ["k0"])["k1"].to_pylist() == [1, 2]
