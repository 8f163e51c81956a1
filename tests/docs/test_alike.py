import pytest

from tests.docs.alike import unlike

TABLE = """\
  sex   | count
--------+-------
 Female |  9775
 Male   | 20408
(2 rows)
"""


def test_numbers_in_rows_are_noise():
    printed = TABLE.replace("9775", "10001").replace("20408", "-3.5")
    assert unlike(TABLE.splitlines(), printed.splitlines()) == ""


@pytest.mark.parametrize(
    ("was", "now"),
    [("Female", "female"), ("count", "n"), ("(2 rows)", "(3 rows)"), (" Male   | 20408\n", "")],
)
def test_everything_else_is_not(was: str, now: str):
    assert unlike(TABLE.splitlines(), TABLE.replace(was, now).splitlines())


def test_prices_are_compared():
    assert unlike(["NOTICE:  cost 0.1 epsilon"], ["NOTICE:  cost 0.2 epsilon"])


def test_dots_stand_for_anything():
    assert unlike(["a ... d", "...", "z"], ["a b c d", "x", "y", "z"]) == ""
    assert unlike(["a", "..."], ["a", "b"]) == ""
    assert unlike(["...", "z"], ["x"])
    assert unlike(["a", "..."], ["b"])
