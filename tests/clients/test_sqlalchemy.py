"""SQLAlchemy over three drivers: reflection, and queries built of what was reflected."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from tests.proxies import PASSWORD, Proxy

pytestmark = pytest.mark.external


@pytest.fixture(params=["psycopg", "psycopg2", "pg8000"])
def engine(request: pytest.FixtureRequest, world: Proxy) -> Iterator[sa.Engine]:
    made = sa.create_engine(
        sa.URL.create(f"postgresql+{request.param}", "ann", PASSWORD, "127.0.0.1", world.port, "main")
    )
    yield made
    made.dispose()


def test_names(engine: sa.Engine):
    seen = sa.inspect(engine)
    assert seen.default_schema_name == "public"
    assert {"public", "dp", "information_schema"} <= set(seen.get_schema_names())
    assert sorted(seen.get_table_names()) == ["people", "towns", "visits"]
    assert (seen.get_view_names(), seen.get_materialized_view_names()) == (["spent"], [])
    assert seen.has_table("towns")
    assert not seen.has_table("salaries")
    assert seen.get_enums() == seen.get_sequence_names() == []


def test_columns_of_a_table(engine: sa.Engine):
    seen = sa.inspect(engine)
    columns = {c["name"]: (str(c["type"]), c["nullable"]) for c in seen.get_columns("people")}
    assert columns == {
        "id": ("INTEGER", False), "age": ("INTEGER", False), "town": ("TEXT", True),
        "income": ("DOUBLE PRECISION", True), "born": ("DATE", True),
        "seen": ("TIMESTAMP", True),
        "member": ("BOOLEAN", True), "paid": ("NUMERIC(10, 2)", True), "big": ("BIGINT", True),
    }  # fmt: skip
    assert seen.get_indexes("people") == seen.get_unique_constraints("people") == []
    assert seen.get_pk_constraint("people")["constrained_columns"] == ["id"]
    assert seen.get_pk_constraint("towns")["name"] == "towns_pkey"
    [key] = seen.get_foreign_keys("visits")
    assert (key["name"], key["constrained_columns"], key["referred_table"], key["referred_columns"]) == (
        "visits_person_fkey", ["person"], "people", ["id"],
    )  # fmt: skip
    with pytest.raises(sa.exc.NoSuchTableError):
        seen.get_columns("salaries")


def test_domains_are_check_constraints(engine: sa.Engine):
    found = {c["name"]: c["sqltext"] for c in sa.inspect(engine).get_check_constraints("people")}
    assert found["people_age_check"] == "age >= 0 AND age <= 110"
    assert found["people_town_check"] == "town = ANY (ARRAY['Bern'::text, 'Oslo'::text, 'Rome'::text])"


def test_guarantees_are_comments(engine: sa.Engine):
    seen = sa.inspect(engine)
    assert "privacy unit" in seen.get_table_comment("people")["text"]
    assert "OUTSIDE CLAMP" in next(c["comment"] for c in seen.get_columns("people") if c["name"] == "age")


def test_everything_reflected_and_asked(engine: sa.Engine):
    known = sa.MetaData()
    known.reflect(engine, views=True)
    assert set(known.tables) == {"people", "towns", "visits", "spent"}
    people = known.tables["people"]
    asked = (
        sa.select(people.c.town, sa.func.count().label("n"), sa.func.avg(people.c.age))
        .where(people.c.age > 20, people.c.town.in_(["Bern", "Oslo"]))
        .group_by(people.c.town)
        .order_by(people.c.town.desc())
        .limit(1)
    )
    with engine.connect() as connection:
        rows = connection.execute(asked).all()
        assert [row.town for row in rows] == ["Oslo"]
        assert connection.execute(asked).all() == rows
        towns = known.tables["towns"]
        first = connection.execute(sa.select(towns).order_by(towns.c.n)).mappings().first()
        assert first is not None
        assert (first["town"], first["capital"]) == ("Bern", True)


def test_pages(engine: sa.Engine):
    with engine.connect().execution_options(stream_results=True, max_row_buffer=2) as connection:
        parts = list(connection.execute(sa.text("SELECT n FROM towns ORDER BY n")).partitions(2))
        assert [[row.n for row in part] for part in parts] == [[1, 2], [3]]


def test_refusals_and_new_connections(engine: sa.Engine):
    with engine.connect() as connection:
        with pytest.raises(sa.exc.ProgrammingError, match="rows are not shown"):
            connection.execute(sa.text("SELECT age FROM people"))
        connection.rollback()
        connection.invalidate()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        assert (
            connection.execute(sa.text("SELECT n FROM towns WHERE town = :town"), {"town": "Rome"}).scalar()
            == 3
        )
