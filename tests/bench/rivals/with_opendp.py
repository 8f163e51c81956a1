"""OpenDP with Polars: its Context API on Parquet files. Run by the interpreter of an environment that has it.

Frames in memory would be slower: OpenDP passes on the whole of a query's plan, and their rows are part of it.
"""

import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import opendp.prelude as dp
import polars as pl
from serve import Ask, Columns, Rows, main

dp.enable_features("contrib")
VISITS = 4
CANDIDATES = list(range(0, 1_500_001, 500))
"""Of a median it takes what may be the answer, as a list."""
COUNT = dp.len(signed=True)
TOTAL = pl.col("hours").dp.sum((0, 100))
MEAN = pl.col("age").dp.mean((17, 90))
MIDDLE = pl.col("weight").dp.median(CANDIDATES)
SPENT = pl.col("cost").dp.sum((0, 100))


FILES = tempfile.TemporaryDirectory(prefix="dpproxy-rivals-")


def load(tables: Columns) -> Callable[[str, float], Ask]:
    """Files; how many rows there may be, and the values of the keys, are public for everybody."""
    for name, columns in tables.items():
        pl.DataFrame(columns).write_parquet(Path(FILES.name) / f"{name}.parquet")
    people, visits = (pl.scan_parquet(Path(FILES.name) / f"{name}.parquet") for name in ("people", "visits"))
    educations = pl.LazyFrame({"education": sorted(set(tables["people"]["education"].tolist()))})
    wards = pl.LazyFrame({"ward": sorted(set(tables["visits"]["ward"].tolist()))})
    length = VISITS * len(tables["people"]["id"])

    def joined(rows: dp.Query) -> dp.Query:
        both = rows.join(people, left_on="person", right_on="id")
        return both.group_by("sex").agg(SPENT)

    known: dict[str, Callable[[dp.Query], dp.Query]] = {
        "count": lambda rows: rows.filter(pl.col("age") >= 40).select(COUNT),
        "grouped count": lambda rows: rows.group_by("education").agg(COUNT).with_keys(educations),
        "sum": lambda rows: rows.select(TOTAL),
        "average": lambda rows: rows.select(MEAN),
        "several": lambda rows: rows.group_by("education").agg(COUNT, TOTAL, MEAN).with_keys(educations),
        "visits": lambda rows: rows.truncate_per_group(VISITS).group_by("ward").agg(SPENT).with_keys(wards),
        "join": lambda rows: joined(rows.truncate_per_group(VISITS)),
        "median": lambda rows: rows.select(MIDDLE),
    }

    def prepare(question: str, epsilon: float) -> Ask:
        by_person = question in ("visits", "join")
        frame = visits if by_person else people
        unit = {"identifier": "person"} if by_person else {}
        context = dp.Context.compositor(
            data=frame,
            privacy_unit=dp.unit_of(contributions=1, **unit),
            privacy_loss=dp.loss_of(epsilon=epsilon),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=[], max_length=length)],
        )
        measurement = known[question](context.query()).resolve()

        def ask() -> Rows:
            return [list(row) for row in measurement(frame).collect().rows()]

        return ask

    return prepare


if __name__ == "__main__":
    main(f"{version('opendp')} with Polars {version('polars')}", load)
