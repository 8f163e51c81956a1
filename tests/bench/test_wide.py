"""The comparison of methods runs on a small table; a table that is released as it is has no error."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.bench import results, wide
from tests.hospital import ANN, ROOT, ask
from tests.proxies import started, write_home


@pytest.mark.parametrize("make", [wide.taxes, wide.visits, *wide.WORLDS[:3]])
def test_a_view_that_is_the_table_has_no_error(make: Callable[[], wide.World]):
    world = make()
    assert wide.errors(world, world.rows, 0).tolist() == [0, 0, 0]
    assert wide.errors(world, world.rows[:0], 0).min() > 0


def test_tables_and_the_picture_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: wide: begin -->\n<!-- measured: wide: end -->", encoding="utf-8")
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "PAGE", page)
    monkeypatch.setattr(wide, "PICTURE", tmp_path / "wide.png")
    world = wide.visits()
    np.savez(tmp_path / f"{world.name}.mst.1.npz", rows=world.rows)
    assert wide.main(["--small", "--write", "--folder", str(tmp_path)]) == 0
    stored = results.read("wide")
    assert stored.cell((world.name, "1"), "MST, delta 1E-6") == "0.00 / 0.00 / 0.00"
    assert stored.cell((world.name, "1"), "dp_marginals").count("/") == 2
    assert results.read("auto").rows[1][-1] in {"dp_kdtree", "dp_marginals", "dp_microaggregation"}
    assert (tmp_path / "wide.png").exists()
    assert world.name in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("own", "promise"), [("the same, delta 1E-6", "delta 1E-6"), ("dp_marginals", "no delta")]
)
def test_no_figure_is_above_that_of_a_peer_that_promises_the_same(own: str, promise: str):
    """By more than a fifth: of the table that the documentation shows, each side with the same delta."""
    header, *rows = results.read("wide").rows
    for row in rows:
        found = dict(zip(header, row, strict=False))
        ours, *peers = (
            [float(figure) for figure in found.get(name, "").split("/") if figure.strip()]
            for name in (own, f"MST, {promise}", f"AIM, {promise}")
        )
        assert len(ours) == 3
        for peer in peers:
            assert all(a <= 1.2 * b for a, b in zip(ours, peer, strict=False)), (row[:2], ours, peer)


POLICY = """
ALTER TABLE adult SET PRIVACY KEY ROW;
ALTER TABLE adult SET PRIVACY CEILING EPSILON 1;
ALTER TABLE adult SET PRIVACY EXPECTED ROWS 30000;
"""
VIEW = (
    "CREATE PROTECTED VIEW v WITH (method = dp_marginals, epsilon = 1) AS SELECT * FROM adult;",
    "GRANT SELECT ON v TO analyst;",
)


def domain(name: str, adult: duckdb.DuckDBPyConnection) -> str:
    """The declaration of a column's domain."""
    if name in wide.NUMBERS:
        low, high = wide.NUMBERS[name]
        found = f"BETWEEN {low} AND {high} NOT NULL"
    else:
        values = adult.execute(f"SELECT DISTINCT {name} FROM adult").fetchall()
        found = f"IN ({', '.join(repr(value) for (value,) in values)})"
    return f"ALTER TABLE adult ALTER COLUMN {name} SET PRIVACY DOMAIN {found};"


def questions(names: tuple[str, ...], adult: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, str, float]]:
    """The kinds of ``wide.errors`` as statements; the kind, the statement, and what its error is divided by."""
    random = np.random.default_rng(3)
    rows = adult.execute("SELECT * FROM adult").fetchall()
    numbers = [name for name in names if name in wide.NUMBERS]

    def condition(name: str) -> str:
        drawn = sorted(rows[place][names.index(name)] for place in random.integers(0, len(rows), 2))
        return f"{name} BETWEEN {drawn[0]} AND {drawn[1]}" if name in numbers else f"{name} = '{drawn[0]}'"

    def cell(name: str) -> str:
        if name not in numbers:
            return name
        low, high = wide.NUMBERS[name]
        return f"CAST(floor(({name} - {low}) * {wide.PARTS} / {high - low + 1}) AS integer)"

    for _ in range(wide.QUESTIONS):
        first, second = (str(name) for name in random.choice(names, 2, replace=False))
        yield 0, f"SELECT count(*) FROM {{}} WHERE {condition(first)} AND {condition(second)}", len(rows)
        yield 1, f"SELECT {cell(first)}, {cell(second)}, count(*) FROM {{}} GROUP BY 1, 2", 2 * len(rows)
        asked = str(random.choice(numbers))
        where = condition(str(random.choice([name for name in names if name != asked])))
        low, high = wide.NUMBERS[asked]
        yield 2, f"SELECT count(*), avg({asked}) FROM {{}} WHERE {where}", high - low


@pytest.mark.whole
@pytest.mark.parametrize(("columns", "most"), [(8, (0.97, 10.6, 0.74)), (14, (12.8, 7.0, 1.91))])
def test_a_wide_view_is_as_exact_through_statements(tmp_path: Path, columns: int, most: tuple[float, ...]):
    """At epsilon 1: 1.2 times the errors of SmartNoise's AIM, and that of dp_kdtree in averages, are not reached.

    Measured: .26 / 3.5 / .47 and .45 / 4.2 / .44. Averages of four builds of 8 columns were .43 to .53: nothing else is
    nearer to its limit, and that is five standard deviations away, a false alarm in some 10,000 runs.
    """
    names = wide.COLUMNS[columns]
    table = f"CREATE TABLE adult AS SELECT {', '.join(names)} FROM '{wide.ADULT}'"
    with duckdb.connect() as adult:
        adult.execute(table)
        policy = "\n".join([POLICY, *(domain(name, adult) for name in names), *VIEW])
        errors = [list[float](), list[float](), list[float]()]
        with started(write_home(tmp_path, [table], policy)) as engine:
            for kind, sql, scale in questions(names, adult):
                exact = adult.execute(sql.format("adult")).fetchall()
                answer = ask(engine, sql.format("v"), ANN)
                made = list(answer.rows)
                while answer.stream and (more := answer.stream.take(1000)):
                    made += more
                if kind < 2:
                    counts = [
                        {tuple(map(str, key)): int(str(n)) for *key, n in rows} for rows in (exact, made)
                    ]
                    keys = counts[0].keys() | counts[1].keys()
                    apart = sum(abs(counts[0].get(key, 0) - counts[1].get(key, 0)) for key in keys)
                    errors[kind].append(100 * apart / scale)
                elif exact[0][0] >= wide.FEWEST:
                    errors[kind].append(100 * abs(float(str(made[0][1] or 0)) - exact[0][1]) / scale)
    found = [float(np.mean(each)) for each in errors]
    assert all(one <= limit for one, limit in zip(found, most, strict=True)), found


@pytest.mark.alone
@pytest.mark.usefixtures("in_process")
def test_a_wide_view_is_built_in_seconds(tmp_path: Path):
    """30,162 rows of 14 columns: 2.4 seconds of processor where it was measured."""
    names = wide.COLUMNS[14]
    table = f"CREATE TABLE adult AS SELECT {', '.join(names)} FROM '{wide.ADULT}'"
    with duckdb.connect() as adult:
        adult.execute(table)
        policy = "\n".join([POLICY, *(domain(name, adult) for name in names)])
    with started(write_home(tmp_path, [table], policy)) as engine:
        began = time.process_time()
        ask(engine, VIEW[0], ROOT)
        took = time.process_time() - began
        ask(engine, VIEW[1], ROOT)
        assert ask(engine, "SELECT count(*) FROM v", ANN).nano == 0
    assert took < 30
