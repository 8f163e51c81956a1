"""What users of dlt do with a database as a source. Writes one JSON object of what was seen."""

import json
import os
import sys
from collections.abc import Iterator

import dlt
import sqlalchemy
from dlt.sources.sql_database import sql_database, sql_table
from sqlalchemy.exc import DBAPIError

URL = sqlalchemy.URL.create(
    "postgresql+psycopg2", os.environ["PGUSER"], os.environ["PGPASSWORD"], os.environ["PGHOST"],
    int(os.environ["PGPORT"]), os.environ["PGDATABASE"],
).render_as_string(hide_password=False)  # fmt: skip
HOME = os.environ["HOME"]
seen: dict[str, object] = {}
to = dlt.destinations.duckdb(f"{HOME}/out.duckdb")
pipeline = dlt.pipeline("shop", pipelines_dir=HOME, destination=to, dataset_name="shop")


def loaded(source: object, sql: str, **how: object) -> list[list[object]]:
    """What a query finds where the source was loaded to."""
    pipeline.run(source, **how).raise_on_failed_jobs()
    with pipeline.sql_client() as client:
        return [list(row) for row in client.execute_sql(sql)]


def failed(run: object) -> list[object]:
    """The SQLSTATE of what a pipeline failed over."""
    try:
        run()
    except Exception as error:  # noqa: BLE001 - dlt wraps the driver's error
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, DBAPIError):
            cause = cause.__cause__ or cause.__context__
        return [getattr(getattr(cause, "orig", None), "pgcode", None), "HINT" in str(cause)]
    return ["nothing was refused"]


@dlt.resource(name="ages")
def ages() -> Iterator[dict[str, object]]:
    """A statement of one's own."""
    asked = "SELECT town, count(*) AS n, avg(age) AS mean FROM people WHERE age >= :least GROUP BY town"
    with sqlalchemy.create_engine(URL).connect() as connection:
        for row in connection.execute(sqlalchemy.text(asked), {"least": 20}):
            yield dict(row._mapping)


def missing() -> list[object]:
    with sqlalchemy.create_engine(URL).connect() as connection:
        return list(connection.execute(sqlalchemy.text("SELECT x FROM nowhere")))


source = sql_database(URL, schema="public", table_names=["towns", "people", "visits"])
seen["tables"] = {
    name: [f"{column['name']} {column.get('data_type')}" for column in of.columns.values()]
    for name, of in sorted(source.resources.items())
}
towns, spent, shown = (
    sql_table(URL, table=name, schema="public") for name in ("towns", "spent", "people_open")
)
seen["public"] = loaded(
    source.with_resources("towns"), "SELECT town, n, area, founded FROM towns ORDER BY town"
)
seen["again"] = loaded(towns, "SELECT count(*) FROM towns", write_disposition="replace")
seen["view"] = loaded(spent, "SELECT count(*) BETWEEN 10 AND 1001, sum(n) > 2000 FROM spent")
of_people = "SELECT count(*) > 0, min(age) >= 0, count(DISTINCT town) <= 3 FROM people_open"
seen["protected view"] = loaded(shown, of_people)
grouped = loaded(ages, "SELECT town, n, mean FROM ages ORDER BY town")
seen["grouped"] = [[town, abs(n - 267) < 60, abs(mean - 59) < 20] for town, n, mean in grouped]
later = sql_table(
    URL, table="towns", schema="public", incremental=dlt.sources.incremental("n", initial_value=2)
)
seen["incremental"] = sorted(row["town"] for row in later)
seen["rows"] = failed(lambda: list(sql_table(URL, table="visits", schema="public")))
seen["missing"] = failed(missing)
sys.stdout.write(json.dumps(seen, default=str))
