"""The names that attacks are written with."""

import pytest

from dpproxy.assurance.model import Attack, Outcome
from dpproxy.assurance.target import Target, targets
from tests.assurance.made_up import policy, schema


@pytest.fixture
def found() -> dict[str, Target]:
    return {target.table: target for target in targets(policy(), schema(), {"patients": "21000"})}


def test_one_target_for_each_protected_table(found: dict[str, Target]):
    assert list(found) == ["notes", "patients", "stays", "survey"]


def test_names_of_a_table_with_a_key(found: dict[str, Target]):
    names = found["stays"].names
    assert (names["t"], names["key"], names["n"], names["lo"], names["hi"]) == (
        "stays",
        "patient",
        "cost",
        "0",
        "100",
    )
    assert (names["k"], names["pub"], names["pubkey"]) == ("ward", "wards", "ward")
    assert (names["other"], names["link"], names["foreign"]) == ("notes", "b.stay = a.stay", "survey")
    assert "secret" not in names  # "stay" is what notes refer to
    assert names["hidden"] == "wages"


def test_names_of_a_table_of_rows(found: dict[str, Target]):
    names = found["survey"].names
    assert (names["n"], names["k"], names["T"]) == ("answer", "happy", "SURVEY")
    assert not {"key", "her", "other", "pub", "day"} & names.keys()
    assert found["patients"].names["secret"] == "name"
    assert (found["patients"].names["her"], found["patients"].names["day"]) == ("21000", "joined")
    assert found["patients"].names["lookalike"] not in ("patients", '"patients"')


def test_statements_that_name_what_is_not_there_are_left_out(found: dict[str, Target]):
    attack = Attack("a", "b", Outcome.REFUSED, ("SELECT 1", "SELECT {n} FROM {t}", "SELECT {key} FROM {t}"))
    assert list(found["survey"].statements(attack)) == ["SELECT 1", "SELECT answer FROM survey"]
