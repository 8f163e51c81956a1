"""The values that move down the pipe: what they say of themselves."""

from dataclasses import replace
from pathlib import Path

import pytest

from dpproxy.plan import Answer, Caller, Plan
from tests.proxies import started, write_home
from tests.test_engine import DDL, POLICY
from tests.test_payment import plan


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
        assert replace(asked, mechanism=None).free
        assert plan(engine, "SELECT count(*) FROM t").groups == 1
        with pytest.raises(AttributeError):
            asked.empty = True  # type: ignore[misc]
