import pytest

from dpproxy.wire.documents import normalise


def test_as_postgresql_writes_them():
    """As ``text::jsonb::text`` of PostgreSQL 15."""
    for text, expected in (
        ('{"b":1, "a":2}', '{"a": 2, "b": 1}'),
        ('{"bb":1,"c":2,"é":3,"c":4}', '{"c": 4, "bb": 1, "é": 3}'),
        ("[1.0, 1e3, -0, 1.50e1, 1E-2]", "[1.0, 1000, 0, 15.0, 0.01]"),
        (r'"\u00e9\/\t\u0001 \"x\""', r'"é/\t\u0001 \"x\""'),
        (" [ true,false , null,{} ,[]] ", "[true, false, null, {}, []]"),
    ):
        assert normalise(text) == expected


@pytest.mark.parametrize("text", ["nonsense", "", "{", "NaN", '"\\u0000"', '"\\ud800"', "[" * 10_000])
def test_what_is_none(text: str):
    with pytest.raises(ValueError):  # noqa: PT011 - some have no words
        normalise(text)


def test_short_numbers_do_not_grow_without_bound():
    assert len(normalise("[" + ",".join(["1e300"] * 1000) + "]")) > 300_000
    for count in (1, 10_000):
        with pytest.raises(OverflowError):
            normalise("[" + ",".join(["1e131071"] * count) + "]")
