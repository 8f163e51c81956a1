"""The made-up data are the worst case of every aggregate, and every mechanism is asked for each."""

import psycopg
import pytest

from dpproxy.aggregates.table import PRIVATE
from dpproxy.assurance.twins import DELTA, FOUND, GROUPS, STATEMENTS, twins
from dpproxy.config.settings import SETTINGS
from dpproxy.planner.accept import parse
from udfs.mechanisms import MECHANISMS


def test_every_aggregate_is_asked_for():
    asked = {type(node) for statement in STATEMENTS for node in parse(statement).walk()}
    assert asked >= PRIVATE


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
                    rows = connection.execute(statement.encode()).fetchall()
                    assert len(rows) == (1 if "WHERE id = 0" in statement else GROUPS)
                connection.execute(f"SET dp.delta = '{DELTA}'".encode())
                for statement in FOUND:
                    shown = [row[0] for row in connection.execute(statement.encode()).fetchall()]
                    # Of 200 keys 130 or more are expected: each count leaves this range with less than 1e-9.
                    assert 60 < sum(map(bool, shown)) < GROUPS
