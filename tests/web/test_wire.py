"""Statements of the page over a real connection."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from dpproxy.web import wire
from dpproxy.web.options import Options
from dpproxy.web.wire import MOST_ROWS, Column, Refused, Rows, SessionEnded, Wire, statement_in
from tests.proxies import PASSWORD
from tests.web.pages import BY_WARD, Site

T = TypeVar("T")


def options(shared: Site) -> Options:
    return Options("127.0.0.1", 1, "127.0.0.1", shared.proxy.port)


def connected(shared: Site, work: Callable[[Wire], Awaitable[T]], user: str = "ann") -> T:
    async def run() -> T:
        wire = await Wire.connect(options(shared), "main", user, PASSWORD, "")
        assert isinstance(wire, Wire)
        try:
            return await work(wire)
        finally:
            await wire.close()

    return asyncio.run(run())


def test_values_are_texts_and_intervals_are_columns(shared: Site):
    found = connected(shared, lambda wire: wire.ask(BY_WARD))
    assert isinstance(found, Rows)
    assert found.columns[:3] == (
        Column("ward", "text"),
        Column("people", "int8"),
        Column("people_ci_low", "float8"),
    )
    assert [record["ward"] for record in found.records()] == ["a", "b", "c"]
    assert all(isinstance(cell, str) for row in found.rows for cell in row)
    assert found.notices[0].message.startswith("cost 0")


def test_a_statement_without_rows(shared: Site):
    assert connected(shared, lambda wire: wire.ask("SET dp.epsilon = 0.2")) == Rows()


def test_a_refusal_has_its_place_and_a_statement(shared: Site):
    found = connected(shared, lambda wire: wire.ask("SELECT ward, age FROM visits"))
    assert isinstance(found, Refused)
    assert (found.sqlstate, found.position) == ("42501", 7)
    assert found.statement == "SELECT ward, count(*) FROM visits GROUP BY ward"


def test_percent_signs_and_braces_are_no_parameters(shared: Site):
    found = connected(shared, lambda wire: wire.ask("SELECT '%s %(a)s {}' AS x, 7 % 4 AS y"))
    assert isinstance(found, Rows)
    assert found.rows == (("%s %(a)s {}", "3"),)


def test_only_one_statement_is_run(shared: Site):
    found = connected(shared, lambda wire: wire.ask("SELECT 1; SELECT 2"))
    assert isinstance(found, Refused)
    assert found.sqlstate == "42601"


def test_long_answers_are_cut_and_the_session_goes_on(shared: Site):
    async def work(wire: Wire) -> tuple[Rows | Refused, Rows | Refused]:
        many = "SELECT a.ward FROM wards a" + "".join(f" CROSS JOIN wards t{n}" for n in range(8))
        return await wire.ask(many), await wire.ask("SELECT 1")

    many, one = connected(shared, work)
    assert isinstance(many, Rows)
    assert (len(many.rows), many.is_cut) == (MOST_ROWS, True)
    assert isinstance(one, Rows)
    assert one.rows == (("1",),)


def test_answers_of_many_characters_are_cut(shared: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "MOST_CHARACTERS", 2)
    found = connected(shared, lambda wire: wire.ask("SELECT floor FROM wards"))
    assert isinstance(found, Rows)
    assert (len(found.rows), found.is_cut) == (2, True)


def test_a_copy_ends_the_session_instead_of_blocking_it(shared: Site):
    async def work(wire: Wire) -> None:
        with pytest.raises(SessionEnded):
            await wire.ask("COPY (SELECT ward FROM wards) TO STDOUT")

    connected(shared, work)


def test_a_zero_byte_is_refused(shared: Site):
    found = connected(shared, lambda wire: wire.ask("SELECT '\0'"))
    assert isinstance(found, Refused)


def test_a_wrong_password_says_what_the_proxy_says(shared: Site):
    found = asyncio.run(Wire.connect(options(shared), "main", "ann", "wrong", ""))
    assert found == Refused("28000", 'password authentication failed for user "ann"')


@pytest.mark.parametrize(
    ("hint", "statement"),
    [
        ("SELECT * FROM dp.budgets; shows what you may spend.", "SELECT * FROM dp.budgets"),
        ("ask for less: SET dp.epsilon = 0.1", "SET dp.epsilon = 0.1"),
        ("GRANT SELECT ON t TO <role>;", None),
        ("write ... instead", None),
        ("Ask again, WITH less. This is answered: SELECT 1 FROM t;", "SELECT 1 FROM t"),
        (None, None),
    ],
)
def test_statements_of_hints(hint: str | None, statement: str | None):
    assert statement_in(hint) == statement
