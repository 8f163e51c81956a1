"""Parts of names as parse_ident gives them; more of them beside a real PostgreSQL in expressions.sql."""

import pytest

from dpproxy.pgcatalog.compiler.identifiers import parts
from dpproxy.values.errors import InvalidParameter, Unsupported
from tests.pgcatalog.conftest import Ask


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("public.t", ["public", "t"]),
        ('Public."T x"."a""b"', ["public", "T x", 'a"b']),
        (" a\t.\nB_2$ ", ["a", "b_2$"]),
        ("ÄB", ["Äb"]),
    ],
)
def test_parts(name: str, found: list[str]):
    assert parts(name, strict=True) == found


@pytest.mark.parametrize("name", ["", "a.", ".a", "a..b", '"a', '""', "1a", "a b", "a(int)", 'a."b"c', "a-b"])
def test_no_name(name: str):
    with pytest.raises(InvalidParameter):
        parts(name, strict=True)


def test_what_follows_is_let_go_on_demand():
    assert parts("a.b(int)", strict=False) == ["a", "b"]
    with pytest.raises(InvalidParameter):
        parts("a.(int)", strict=False)


def test_the_refusal_has_its_place(ask: Ask):
    with pytest.raises(InvalidParameter) as refused:
        ask("SELECT parse_ident('1')")
    assert refused.value.position is not None
    with pytest.raises(Unsupported):
        ask("SELECT parse_ident(relname) FROM pg_class")
