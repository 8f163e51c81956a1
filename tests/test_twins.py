"""The made-up data are the worst case of every aggregate, and every mechanism is asked for each."""

import psycopg
import pytest

from dpproxy.aggregates.table import AGGREGATES
from dpproxy.planner.accept import parse
from dpproxy.settings import SETTINGS
from dpproxy.twins import GROUPS, MECHANISMS, STATEMENTS, twins


def test_every_aggregate_is_asked_for():
    asked = {type(node) for statement in STATEMENTS for node in parse(statement).walk()}
    assert asked >= set(AGGREGATES)


def test_every_mechanism_is_asked_for():
    check = SETTINGS["dp.mechanism"].check
    assert check is not None
    with pytest.raises(ValueError, match="auto") as found:
        check("no such mechanism")
    assert str(found.value).replace("'", "").split(" or ") == ["auto", *MECHANISMS]


def test_both_sides_answer_every_statement():
    with twins() as urls:
        for url in urls:
            with psycopg.connect(url, autocommit=True) as connection:
                for statement in STATEMENTS:
                    assert len(connection.execute(statement.encode()).fetchall()) == GROUPS
