"""SmartNoise SQL over SQLite in memory. Run by the interpreter of an environment that has it."""

import sqlite3
from collections.abc import Callable
from importlib.metadata import version

from serve import Ask, Columns, main
from snsql import Privacy, from_connection

BOUNDS = {"age": (17, 90), "hours": (0, 100), "weight": (0, 1_500_000), "cost": (0, 100)}
VISITS = 4
SQL = {
    "count": "SELECT COUNT(*) AS n FROM main.people WHERE age >= 40",
    "grouped count": "SELECT education, COUNT(*) AS n FROM main.people GROUP BY education",
    "sum": "SELECT SUM(hours) AS s FROM main.people",
    "average": "SELECT AVG(age) AS a FROM main.people",
    "several": "SELECT education, COUNT(*) AS n, SUM(hours) AS s, AVG(age) AS a FROM main.people GROUP BY education",
    "visits": "SELECT ward, SUM(cost) AS s FROM main.visits GROUP BY ward",
    "join": "SELECT sex, SUM(cost) AS s FROM main.people JOIN main.visits ON id = person GROUP BY sex",
    "median": "SELECT MEDIAN(weight) AS m FROM main.people",
}


def metadata(tables: Columns, *, rows_are_people: bool) -> dict[str, object]:
    """Bounds and privacy units; groups are public, so none is left out."""

    def table(name: str, key: str, most: int, *, private: bool) -> dict[str, object]:
        found: dict[str, object] = {
            "row_privacy": not private,
            "censor_dims": False,
            "clamp_counts": False,
            "rows": len(tables[name][key]),
        }
        if private:
            found["max_ids"] = most
        for column in tables[name]:
            if column in BOUNDS:
                lower, upper = BOUNDS[column]
                found[column] = {"type": "int", "lower": lower, "upper": upper, "nullable": False}
            elif column == key:
                found[column] = {"type": "int", "private_id": private}
            else:
                found[column] = {"type": "string"}
        return found

    people = table("people", "id", 1, private=not rows_are_people)
    return {"": {"main": {"people": people, "visits": table("visits", "person", VISITS, private=True)}}}


def load(tables: Columns) -> Callable[[str, float], Ask]:
    """A database in memory."""
    connection = sqlite3.connect(":memory:")
    for name, columns in tables.items():
        connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        marks = ", ".join("?" * len(columns))
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)

    def prepare(question: str, epsilon: float) -> Ask:
        known = metadata(tables, rows_are_people=question != "join")
        one = Privacy(epsilon=1.0, delta=1e-9)
        price, _ = from_connection(connection, engine="sqlite", privacy=one, metadata=known).get_privacy_cost(
            SQL[question]
        )
        privacy = Privacy(epsilon=epsilon / float(price), delta=1e-9)
        reader = from_connection(connection, engine="sqlite", privacy=privacy, metadata=known)
        return lambda: [list(row) for row in reader.execute(SQL[question])[1:]]

    return prepare


if __name__ == "__main__":
    main(version("smartnoise-sql"), load)
