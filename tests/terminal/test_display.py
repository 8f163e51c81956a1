from decimal import Decimal

from dpproxy.terminal.display import answer, caret, records, render, spoken


def test_numbers_stand_right_and_text_left():
    rows = [("a", 1, Decimal("2.50000"), None), ("bcd", 22, 0.123456, "x")]
    assert render(["t", "n", "d", "e"], rows).splitlines() == [
        " t   |  n |      d | e",
        "-----+----+--------+---",
        " a   |  1 |    2.5 |",
        " bcd | 22 | 0.1235 | x",
    ]


def test_a_table_without_rows_has_its_names():
    assert render(["a", "b"], []).splitlines() == [" a | b", "---+---"]


def test_a_long_cell_is_cut():
    assert render(["a", "b"], [("x" * 101, 1)]).splitlines()[2] == " " + "x" * 97 + "... | 1"
    assert render(["a"], [("x" * 200,)]).splitlines()[2] == " " + "x" * 157 + "..."


def test_a_number_that_is_missing_leaves_the_others_right():
    assert render(["n"], [(100,), (None,), (1,)]).splitlines()[2:] == [" 100", "", "   1"]


def test_whole_numbers_keep_their_zeros():
    assert render(["a"], [(Decimal(1200),)]).splitlines()[2] == " 1200"


def test_a_small_limit_is_not_shown_as_none():
    told = render(
        ["delta", "epsilon", "x"], [(Decimal("1E-12"), Decimal("3.636199999"), 1e-7), (Decimal(0), 0.5, 0.0)]
    )
    assert told.splitlines()[2:] == [
        " 0.000000000001 | 3.636199999 | 0.0000001",
        "              0 |         0.5 |         0",
    ]


def test_a_table_that_a_terminal_does_not_hold_is_shown_as_records():
    names, rows = ["name", "why"], [("a", "x" * 120)]
    assert answer(names, rows, in_json=False, width=None) == render(names, rows)
    assert answer(names, rows, in_json=False, width=110) == render(names, rows)
    assert answer(names, rows, in_json=False, width=80) == records(names, rows)
    assert "x" * 120 in records(names, rows)
    assert answer(names, [], in_json=False, width=3) == render(names, [])


def test_the_caret_stands_under_the_offset():
    assert caret("one\ntwo three", 8) == ["LINE 2: two three", "            ^"]
    assert caret("one", 0) == ["LINE 1: one", "        ^"]


def test_detail_and_hint_follow_where_there_are_any():
    assert spoken("a", "b", detail="c", hint="d") == "a\nb\nDETAIL:  c\nHINT:  d"
    assert spoken("a", detail=None, hint="") == "a"
