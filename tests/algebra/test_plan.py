"""The values that move down the pipe: what they say of themselves."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Answer, Caller, KeySet, Part, Plan
from dpproxy.values.pgtypes import BOOL, INT8, TEXT
from tests.engine.test_engine import DDL, POLICY
from tests.engine.test_payment import plan
from tests.proxies import started, write_home
from udfs.privacy import Loss


def test_the_built_in_role():
    assert Caller("root", frozenset({"admin", "x"}), "s").is_admin
    assert not Caller("ann", frozenset({"administrator"}), "s").is_admin


def test_rows_are_not_in_a_repr():
    assert "7654321" not in repr(Answer("SELECT 1", (), [(7654321,)]))


def test_what_is_free_and_how_many_keys_are_answered(tmp_path: Path):
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        asked = plan(engine, "SELECT k, count(*) FROM t GROUP BY k")
        assert isinstance(asked, Plan)
        assert (asked.free, asked.groups) == (False, 2)
        assert replace(asked, empty=True).free
        assert replace(asked, parts=(replace(asked.parts[0], vacuous=True),)).free
        assert plan(engine, "SELECT DISTINCT k FROM t").free
        assert plan(engine, "SELECT count(*) FROM t").groups == 1
        with pytest.raises(AttributeError):
            asked.empty = True  # type: ignore[misc]


def test_a_plan_costs_the_sum_of_its_parts(tmp_path: Path):
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        two = plan(
            engine, "SELECT k, count(*) FROM t WHERE x > (SELECT avg(x) FROM t) GROUP BY k", epsilon="0.5"
        )
        assert [p.loss for p in two.parts] == [Loss(250_000_000)] * 2
        assert (two.loss, two.groups) == (Loss(500_000_000), 2)


def test_keys_that_vary_together_are_counted_as_tuples():
    pairs = KeySet((TEXT, INT8), (("a", 1), ("b", 1), ("b", 2)))
    truth = KeySet((BOOL,), ((False,), (True,)))
    part = Part(
        "", truncated=False, release="", keys=(pairs, truth), measures=1, box="", noise="", loss=Loss(1)
    )
    assert (part.groups, part.key_types) == (6, (TEXT, INT8, BOOL))
