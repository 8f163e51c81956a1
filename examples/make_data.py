"""Make the two example tables from their CSV files: python examples/make_data.py FOLDER.

Sources and licences:

* ``adult.csv``: UCI Machine Learning Repository, "Adult" (B. Becker and R. Kohavi, 1996),
  doi:10.24432/C5XW20, Creative Commons Attribution 4.0. The training part without the rows that have a
  missing value: 30,162 people.
* ``census.csv``: the "Census" reference data set of the CASC project (R. Brand, J. Domingo-Ferrer and
  J. M. Mateo-Sanz, 2002), 1,080 people from the U.S. Census Bureau's Data Extraction System, public domain.

Changes: column names in lower case, integer columns as INTEGER, every column required, rows as they were.
"""

import sys
from pathlib import Path

import duckdb
import pyarrow
from pyarrow import parquet

TABLES = ("adult", "census")


def main(folder: Path) -> None:
    """Write ``data/NAME.parquet`` beside this file for each table."""
    target = Path(__file__).parent / "data"
    target.mkdir(exist_ok=True)
    with duckdb.connect() as connection:
        for name in TABLES:
            source = connection.read_csv(str(folder / f"{name}.csv"), header=True, delimiter=",")
            columns = ", ".join(
                f'"{column}"::{"INTEGER" if kind == "BIGINT" else "VARCHAR"} AS "{column.lower()}"'
                for column, kind in zip(source.columns, source.types, strict=True)
            )
            table = source.project(columns).to_arrow_table()
            required = pyarrow.schema([field.with_nullable(nullable=False) for field in table.schema])
            file = target / f"{name}.parquet"
            parquet.write_table(table.cast(required), file, compression="zstd", compression_level=19)
            print(f"{name}: {len(table)} rows, {file.stat().st_size} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/make_data.py FOLDER")
    main(Path(sys.argv[1]))
