"""What EXPLAIN (PRIVACY) advises: each sentence is then done."""

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpproxy.accounting.model import Account
from dpproxy.algebra.plan import Answer, Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from tests.proxies import started, write_home

TABLE = "i % 2 AS k, i // 2 % 20 AS h, i % 300 AS d, i % 100 AS x FROM range(4000) AS r(i)"
DDL = (f"CREATE TABLE t AS SELECT {TABLE}",)
SIZED = "ALTER TABLE t SET PRIVACY EXPECTED ROWS 4000;"
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 100;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN BETWEEN 0 AND 1 NOT NULL;
ALTER TABLE t ALTER COLUMN h SET PRIVACY DOMAIN BETWEEN 0 AND 19 NOT NULL;
ALTER TABLE t ALTER COLUMN d SET PRIVACY DOMAIN BETWEEN 0 AND 299 NOT NULL;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE t ALTER COLUMN x SET PRIVACY QUANTILES OF VALUES (0 AT 0, 50 AT 50, 99 AT 100, 100 AT 1000) WITHIN 2;
CREATE PRIVACY BUDGET b LIMIT EPSILON 80 MAX EPSILON 4 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(write_home(tmp_path_factory.mktemp("advice"), DDL, POLICY)) as found:
        yield found


def run(engine: Engine, user: str, sql: str, **settings: str) -> Answer:
    caller = Caller(user, frozenset({"analyst"}), f"session of {user}")
    given = {**DEFAULTS, **{f"dp.{name}": value for name, value in settings.items()}}
    return engine.run(Request(caller, engine.prepare(caller, sql, (), given), (), given))


def advised(engine: Engine, user: str, sql: str, **settings: str) -> str:
    """From the line about noise on, or about what is free."""
    lines = [str(row[0]) for row in run(engine, user, f"EXPLAIN (PRIVACY) {sql}", **settings).rows]
    first = next(i for i, line in enumerate(lines) if line.startswith(("Noise", "Free")))
    return " ".join(line.strip() for line in lines[first:])


def test_before_anything_is_known_it_says_how_large_groups_have_to_be(engine: Engine):
    said = advised(engine, "ann", "SELECT h, count(*) AS n, avg(x) AS a FROM t GROUP BY h")
    found = re.fullmatch(
        r"Noise: 10 % takes groups of at least (\d+) rows \((n|a)\), (\d+) rows \((a|n)\), "
        r"more where values are far below their bounds Free with it: .*",
        said,
    )
    assert found is not None, said
    assert (
        300 < int(found[3]) <= int(found[1]) < 1500
    )  # ten times a half-width of 41 for each of two measures


def test_the_fix_is_what_its_words_say(engine: Engine):
    sql = "SELECT h, sum(x) AS s FROM t WHERE k = 1 GROUP BY h"
    run(engine, "ben", sql)
    said = advised(engine, "ben", sql, reuse="never")
    assert said.startswith("Noise, around what was released before: ")
    assert "Fix: coarser groups: without h 1 in place of 20, or ranges of it" in said
    assert "Fix: a condition less: each leaves fewer rows" in said
    assert "Fix: a narrower bound: least(x, 100) leaves 99 % ± 2 % of people as they are" in said
    found = re.search(r"SET dp.epsilon = ([0-9.]+);", said)
    if found is None:  # what was released is noise
        assert "No epsilon that is allowed" in said
        return
    before = float(re.findall("±([0-9]+)", run(engine, "ben", sql).notices[1].message)[0])
    anew = run(engine, "ben", sql, epsilon=found[1], reuse="never")  # else both draws are averaged
    after = float(re.findall("±([0-9]+)", anew.notices[1].message)[0])
    assert after <= 1.1 * before * 0.1 / float(found[1])  # errors fall as 1 / epsilon, or faster


def test_nothing_is_to_be_fixed_where_noise_is_little(engine: Engine):
    run(engine, "cid", "SELECT k, count(*) FROM t GROUP BY k", epsilon="1")
    assert "Noise" not in advised(engine, "cid", "SELECT k, count(*) FROM t GROUP BY k", epsilon="1")


def test_expected_rows_say_whether_noise_dominates(tmp_path: Path):
    sql = "SELECT h, count(*) AS n FROM t GROUP BY h"
    with started(write_home(tmp_path, DDL, POLICY + SIZED)) as engine:
        said = advised(engine, "ann", sql)
        assert said.startswith(
            "Noise: 10 % takes groups of at least 300 rows (n); a group of EXPECTED ROWS has about 200"
        )
        assert "Fix: SET dp.epsilon = 0.15" in said
        assert "a condition less" not in said
        assert "Noise" not in advised(engine, "ann", sql, epsilon="0.16")
        rare = advised(engine, "ann", "SELECT h, count(*) AS n FROM t WHERE x = 7 GROUP BY h")
        assert rare.startswith("Noise: 10 % takes groups of at least 300 rows (n) Free with it")
        priced = [
            str(row[0])
            for row in run(
                engine, "ann", "EXPLAIN (PRIVACY) (SELECT avg(x) FROM t; SELECT median(x) FROM t)"
            ).rows
        ]
        assert re.search("half-width avg [0-9.]+$", priced[0])
        assert any(re.search("half-width median [0-9]+ rows of rank", line) for line in priced)


@pytest.mark.parametrize(
    ("asked", "says", "follows"),
    [
        ("SELECT k, h, count(*) FROM t GROUP BY k, h", "for some values of k, h, and without k or h", (
            "SELECT k, count(*) FROM t GROUP BY k",
            "SELECT h, count(*) FROM t GROUP BY h",
            "SELECT h, count(*) FROM t WHERE k = 1 AND h BETWEEN 3 AND 5 GROUP BY h",
        )),
        ("SELECT h, sum(x) FROM t GROUP BY h", "for some values of h, and in total", (
            "SELECT sum(x) FROM t", "SELECT sum(x) FROM t WHERE h < 7",
        )),
        ("SELECT d, count(*) FROM t GROUP BY d", "for some values of d", ("SELECT count(*) FROM t WHERE d = 7",)),
    ],
)  # fmt: skip
def test_what_is_free_with_it_is_free_then(engine: Engine, asked: str, says: str, follows: tuple[str, ...]):
    user = f"dora, {says}"
    assert advised(engine, user, asked).endswith(f"Free with it: the same {says}")
    assert "Free with it" not in " ".join(
        str(r[0]) for r in run(engine, user, f"EXPLAIN (PRIVACY) {asked}", reuse="never").rows
    )
    run(engine, user, asked)
    before = engine._ledger.spent(Account.user("b", user))
    for sql in follows:
        run(engine, user, sql)
        assert engine._ledger.spent(Account.user("b", user)) == before, sql
    assert before == Fraction(1, 10) * 10**9
