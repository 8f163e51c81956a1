from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal

import psycopg
import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.pgcatalog import Catalogue, CatalogueRelation, CatalogueView
from dpproxy.planner.accept import parse
from dpproxy.policy.model import Discovered, Members
from dpproxy.values.pgtypes import DATE, FLOAT8, INT8, NUMERIC, TEXT, TIMESTAMP, Column
from tests.postgres import Server

PATIENTS = CatalogueRelation(
    "patients",
    (
        Column("id", INT8, not_null=True),
        Column("name", TEXT),
        Column("paid", NUMERIC.with_precision(12, 2)),
        Column("born", DATE),
        Column("score", FLOAT8),
    ),
    comment="people",
    declared=(("name", Members(("a", "b"))), ("born", Discovered())),
)
VISITS = CatalogueRelation("Odd visits", (Column("id", INT8),), kind="v")
LEDGER = CatalogueRelation("ledger", (Column("at", TIMESTAMP), Column("loss", NUMERIC), Column("who", TEXT)))
SETTINGS = {"search_path": "public", "server_version": "15.0", "jit": "off"}
ROWS = {
    "ledger": (
        LEDGER.columns,
        [(datetime.fromisoformat("2024-01-02"), Decimal("0.25"), "ana"), (None, None, None)],
    )
}

Ask = Callable[..., list[tuple[object, ...]]]


@pytest.fixture(scope="module")
def real(postgres: Server) -> Iterator[psycopg.Connection]:
    """A PostgreSQL to compare with."""
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        yield connection


@pytest.fixture(scope="package")
def view() -> CatalogueView:
    given = (PATIENTS, VISITS), SETTINGS, 1, (LEDGER,)
    return CatalogueView("main", "ana", ("admin", "analyst"), *given, caller_roles=("analyst",))


@pytest.fixture(scope="package")
def catalogue() -> Iterator[Catalogue]:
    made = Catalogue()
    yield made
    made.close()


@pytest.fixture(scope="package")
def answer(catalogue: Catalogue, view: CatalogueView) -> Callable[..., Answer]:
    """Prepare and run a statement; both must describe the same columns."""

    def made(sql: str, *values: object) -> Answer:
        tree = parse(sql, "main", bare=False)
        assert catalogue.covers(tree)
        _, columns = catalogue.prepare(view, tree, [0] * len(values))
        got = catalogue.run(view, tree, values, ROWS)
        assert got.columns is not None
        assert [c.name for c in got.columns] == [c.name for c in columns]
        return got

    return made


@pytest.fixture(scope="package")
def ask(answer: Callable[..., Answer]) -> Ask:
    """The rows alone."""
    return lambda sql, *values: list(answer(sql, *values).rows)
