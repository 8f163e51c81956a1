import pytest

from examples.thesis.tables import Figure, compared, table


@pytest.mark.parametrize(
    ("printed", "here", "agrees"),
    [
        ("5.99", 5.9915, "yes"),
        ("5.99", 5.9951, "cut off"),
        ("-5.99", -5.9951, "cut off"),
        ("5.99", 6.01, "no"),
        ("5.99", 5.98, "no"),
        ("242", 242.4, "yes"),
        ("", 1.0, ""),
    ],
)
def test_a_number_agrees_when_it_is_the_printed_one_rounded_or_cut_off(
    printed: str, here: float, agrees: str
):
    assert Figure("x", printed, here).agrees == agrees


def test_a_number_is_shown_with_one_digit_more():
    assert Figure("x", "5.99", 5.98765).shown == "5.988"
    assert Figure("x", "", 1789.4712).shown == "1789.47"


def test_a_table_says_why_numbers_differ():
    shown = compared("Title", [Figure("one", "5", 5.0), Figure("two", "5", 7.0, "a misprint")])
    assert shown.splitlines()[0] == "Title"
    assert "a misprint" in shown
    assert shown.count(" no") == 1


def test_columns_are_aligned():
    assert table("T", ["", "n"], [["long name", "1"], ["x", "22"]]).splitlines()[2:] == [
        "             n",
        "  ---------  --",
        "  long name  1",
        "  x          22",
    ]
