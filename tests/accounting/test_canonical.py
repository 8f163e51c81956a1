import hashlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.accounting.canonical import digest, encode

scalars = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.fractions()
fields = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=8)


def tagged(value: object) -> object:
    """The value with its type, since 1 == True == Fraction(1) in Python."""
    return (type(value), tuple(map(tagged, value)) if isinstance(value, tuple) else value)


@given(st.lists(fields, max_size=4), st.lists(fields, max_size=4))
def test_equal_bytes_mean_equal_fields(left: object, right: object):
    assert (encode(*left) == encode(*right)) == (tagged(tuple(left)) == tagged(tuple(right)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("ab", "c"), ("a", "bc")),
        (("",), ()),
        ((1,), (True,)),
        ((1,), ("1",)),
        ((b"1",), ("1",)),
        ((1,), (Fraction(1),)),
        ((("a",), "b"), (("a", "b"),)),
        ((None,), ("",)),
        (("s1:a",), ("a",)),
    ],
)
def test_neighbouring_shapes_differ(left: object, right: object):
    assert encode(*left) != encode(*right)


def test_floats_have_no_encoding():
    with pytest.raises(TypeError, match="float"):
        encode(0.1)


def test_text_that_is_not_unicode_is_refused():
    with pytest.raises(ValueError, match="surrogates"):
        encode("\ud800")


def test_digest_is_fixed_for_ever():
    # Stored keys depend on it: a change here orphans every stored release.
    assert (
        encode("a", 1, None, b"\0", bool(1), Fraction(1, 3), ("x",)) == b"s1:ai1:1n0:b1:\0t1:1q3:1/3l4:s1:x"
    )
    assert digest("a") == hashlib.sha256(b"s1:a").digest()
