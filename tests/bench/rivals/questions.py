"""What is asked of every candidate, on which rows, and what the true answers are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

ADULT = Path(__file__).parents[3] / "examples/data/adult.parquet"
EDUCATIONS = (
    "10th", "11th", "12th", "1st-4th", "5th-6th", "7th-8th", "9th", "Assoc-acdm", "Assoc-voc", "Bachelors", "Doctorate",
    "HS-grad", "Masters", "Preschool", "Prof-school", "Some-college",
)  # fmt: skip
SEXES = ("Female", "Male")
WARDS = tuple(f"ward {n}" for n in range(8))
BOUNDS = {"age": (17, 90), "hours": (0, 100), "weight": (0, 1_500_000), "cost": (0, 100)}
VISITS = 4
"""How many visits a person has at most: no candidate loses a row to its bound."""
PEOPLE = (
    "CREATE TABLE people (id INTEGER NOT NULL, sex VARCHAR NOT NULL, education VARCHAR NOT NULL, "
    "age INTEGER NOT NULL, hours INTEGER NOT NULL, weight INTEGER NOT NULL)"
)
FILL_VISITS = (
    "INSERT INTO visits SELECT id, 'ward ' || CAST(hash(id * 8 + j) % 8 AS VARCHAR), "
    "CAST(hash(id * 8 + j + 5) % 101 AS INTEGER) FROM people, range(4) AS r(j) "
    f"WHERE id % 2 = 0 AND j < hash(id + 9) % {VISITS + 1}"
)
Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Question:
    """One statement; the key it groups by is the first column."""

    name: str
    what: str
    sql: str
    measures: tuple[str, ...]
    key: tuple[str, ...] = ()
    """The values of the key, which everybody may know."""

    def varied(self, place: int) -> str:
        """The same question in words that no other has, or it would be answered from what another released."""
        always = f"{'cost' if 'visits' in self.sql else 'age'} > -{place + 1}"
        body, grouped, by = self.sql.partition(" GROUP BY")
        return f"{body} {'AND' if 'WHERE' in body else 'WHERE'} {always}{grouped}{by}"


QUESTIONS = (
    Question("count", "a count", "SELECT count(*) FROM people WHERE age >= 40", ("count",)),
    Question(
        "grouped count", "a count, 16 groups",
        "SELECT education, count(*) FROM people GROUP BY education", ("count",), EDUCATIONS,
    ),
    Question("sum", "a sum", "SELECT sum(hours) FROM people", ("sum",)),
    Question("average", "an average", "SELECT avg(age) FROM people", ("average",)),
    Question(
        "several", "three measures, 16 groups",
        "SELECT education, count(*), sum(hours), avg(age) FROM people GROUP BY education",
        ("count", "sum", "average"), EDUCATIONS,
    ),
    Question(
        "visits", "a sum of people's visits, 8 groups",
        "SELECT ward, sum(cost) FROM visits GROUP BY ward", ("sum",), WARDS,
    ),
    Question(
        "join", "the same over a join, 2 groups",
        "SELECT sex, sum(cost) FROM people JOIN visits ON id = person GROUP BY sex", ("sum",), SEXES,
    ),
    Question("median", "a median", "SELECT median(weight) FROM people", ("median",)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class World:
    """Rows: what they are called, and the query that makes the people."""

    name: str
    people: str


ADULTS = World(
    "Adult, 30,162 people",
    "SELECT CAST(row_number() OVER () AS INTEGER) AS id, sex, education, CAST(age AS INTEGER) AS age, "
    f"CAST(hours_per_week AS INTEGER) AS hours, CAST(fnlwgt AS INTEGER) AS weight FROM '{ADULT}'",
)


def generated(rows: int) -> World:
    """Made-up people."""
    return World(
        f"generated, {rows:,} people",
        f"SELECT CAST(i AS INTEGER) AS id, {list(SEXES)}[1 + CAST(hash(i) % 2 AS INTEGER)] AS sex, "
        f"{list(EDUCATIONS)}[1 + CAST(hash(i + 1) % 16 AS INTEGER)] AS education, "
        "CAST(17 + hash(i + 2) % 74 AS INTEGER) AS age, CAST(hash(i + 3) % 100 AS INTEGER) AS hours, "
        "CAST(hash(i + 4) % 1500000 AS INTEGER) AS weight "
        f"FROM range({rows}) AS r(i)",
    )


def statements(world: World) -> tuple[str, ...]:
    """What makes the tables. Every second person has 0 to 4 visits: as many visits as people, about."""
    return (
        PEOPLE,
        f"INSERT INTO people {world.people}",
        "CREATE TABLE visits (person INTEGER NOT NULL, ward VARCHAR NOT NULL, cost INTEGER NOT NULL)",
        FILL_VISITS,
    )


def export(path: Path, folder: Path) -> None:
    """The columns of a database, as files that numpy reads anywhere."""
    with duckdb.connect(path, read_only=True) as connection:
        for table in ("people", "visits"):
            for name, column in connection.execute(f"FROM {table}").fetchnumpy().items():
                values = np.asarray(column)
                np.save(
                    folder / f"{table}.{name}.npy", values.astype(str) if values.dtype == object else values
                )


def truths(connection: duckdb.DuckDBPyConnection, question: Question) -> Numbers:
    """Shape (groups, measures)."""
    return shaped(question, connection.execute(question.sql).fetchall())


def shaped(question: Question, rows: Sequence[Sequence[object]]) -> Numbers:
    """An answer's rows in the order of the key, without the key."""
    if question.key:
        places = {value: row for value, *row in rows}
        rows = [places[value] for value in question.key]
    return np.array(rows, dtype=np.float64)
