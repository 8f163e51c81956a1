"""What is recorded of statements, over the wire."""

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpproxy.engine.recording import RecordingEngine
from dpproxy.observe.audit_entry import AuditOutcome
from tests.proxies import Proxy, end, serving, spawned, write_home

pytestmark = pytest.mark.usefixtures("in_process")

DDL = (
    """CREATE TABLE t AS SELECT CAST(i % 50 AS INTEGER) AS x, ['a', 'b'][1 + i % 2] AS k, 4242424242 + i AS y,
      CAST(i % 7 AS INTEGER) AS z FROM range(500) AS r(i)""",
    "CREATE TABLE p AS SELECT 'a' AS k, 5 AS n",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 3;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 49;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 9999999999;
ALTER TABLE p SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET b LIMIT EPSILON 0.3 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
GRANT EXACT SELECT ON t TO dpo;
"""
USERS = {"ann": ["analyst"], "bob": ["analyst"], "dora": ["dpo"], "root": ["admin"]}
MORE = '[audit]\nkeep_days = 30\n[log]\nformat = "json"\n[metrics]\nport = 0\n'


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with serving(write_home(tmp_path, DDL, POLICY, users=USERS)) as found:
        yield found


def ask(proxy: Proxy, user: str, *statements: str) -> list[list[tuple[object, ...]] | str]:
    """Rows, or the SQLSTATE."""
    found: list[list[tuple[object, ...]] | str] = []
    with psycopg.connect(proxy.dsn(user), autocommit=True) as connection:
        for sql in statements:
            try:
                cursor = connection.execute(sql.encode())
                found.append(cursor.fetchall() if cursor.description else [])
            except psycopg.Error as error:
                found.append(str(error.sqlstate))
    return found


def shown(proxy: Proxy, limit: str = "") -> list[tuple[object, ...]]:
    """Without sequence and time, the first entry first."""
    [rows] = ask(proxy, "root", f"SHOW PRIVACY AUDIT{limit}")
    assert isinstance(rows, list)
    return [row[2:] for row in reversed(rows)]


def test_who_asked_what_and_was_told_what_kind_of_thing(proxy: Proxy):
    count = "SELECT count(*) FROM t"
    ask(
        proxy,
        "ann",
        count,
        count,
        "SELECT secret FROM t",
        "SELECT count(*) FROM p",
        f"EXPLAIN (PRIVACY) {count}",
    )
    ask(proxy, "ann", "SELECT sum(x) FROM t", "SELECT avg(x) FROM t", "SELECT sum(x) FROM t WHERE x > 7")
    ask(proxy, "root", "SHOW PRIVACY GRANTS")
    entries = shown(proxy)
    assert [(e[0], e[2], str(e[3]), e[4]) for e in entries] == [
        ("ann", "answered", "0.1", None),
        ("ann", "replayed", "0", None),
        ("ann", "refused", "0", "42703"),
        ("ann", "free", "0", None),
        ("ann", "explained", "0", None),
        ("ann", "answered", "0.1", None),
        ("ann", "answered", "0.1", None),
        ("ann", "refused", "0", "PD001"),
        ("root", "administered", "0", None),
    ]
    assert entries[2][5] == 'column "secret" does not exist'
    assert entries[7][6] == "SELECT sum(x) FROM t WHERE x > 7"
    assert shown(proxy, " LIMIT 1")[0][6] == "SHOW PRIVACY AUDIT"


def test_what_a_privacy_statement_debits_is_its_price(proxy: Proxy):
    build = "CREATE PROTECTED VIEW v WITH (method = dp_individual_ranking, k = 10, epsilon = 1) AS SELECT x FROM t"
    ask(proxy, "root", "SUGGEST PRIVACY FOR t WITH EPSILON 0.6", build, "REFRESH PROTECTED VIEW v")
    assert [(e[2], str(e[3])) for e in shown(proxy)] == [
        ("administered", "0.6"),
        *[("building", "1"), ("administered", "0")]
        * 2,  # what is charged before rows are read is on record by then
    ]


def test_a_fault_of_ours_is_on_record_with_what_it_has_charged(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    engine = proxy.engine
    assert engine is not None

    def draw(*_: object) -> object:
        raise RuntimeError("the value 4242424242")

    monkeypatch.setattr(engine._answers._release, "draw", draw)
    assert ask(proxy, "ann", "SELECT count(*) FROM t") == ["XX000"]
    [entry] = shown(proxy)
    assert (entry[2], str(entry[3]), entry[4], entry[5]) == ("refused", "0.1", "XX000", "internal error")
    assert sum(e.nano for e in engine._ledger.entries()) == 10**8


def test_the_figure_of_a_budget_is_not_that_of_one_of_its_users(proxy: Proxy):
    assert proxy.engine is not None
    ask(proxy, "ann", "SELECT count(*) FROM t")
    ask(proxy, "bob", "SELECT avg(x) FROM t")
    recorded = RecordingEngine(proxy.engine)
    accounts = recorded.accounts()
    assert [one.spent for one in accounts if one.kind == "budget"] == [pytest.approx(0.2)]
    assert [one.spent for one in accounts if one.kind == "user"] == [pytest.approx(0.1)] * 2
    assert [one.name for one in accounts if one.kind == "ceiling"] == ["t"]
    assert recorded.running() == 0


def test_the_audit_is_for_administrators_and_for_who_has_exact_select(proxy: Proxy):
    assert ask(proxy, "ann", "SHOW PRIVACY AUDIT") == ["42501"]
    [seen] = ask(proxy, "dora", "SHOW PRIVACY AUDIT")  # who has EXACT SELECT
    assert seen
    assert ask(proxy, "dora", "SHOW PRIVACY BUDGETS") == ["42501"]
    assert ask(proxy, "root", "SHOW PRIVACY AUDIT BEFORE 0 LIMIT 2", "SHOW PRIVACY AUDIT LIMIT 1.5") == [
        "22023",
        "22023",
    ]


def test_rows_that_are_refused_after_a_revoke_are_on_record(proxy: Proxy):
    sql = "SELECT x FROM t"
    with psycopg.connect(proxy.dsn("dora"), autocommit=True) as dora:
        dora.execute(f"DECLARE c CURSOR WITH HOLD FOR {sql}")
        assert len(dora.execute("FETCH 2 FROM c").fetchall()) == 2
        ask(proxy, "root", "REVOKE EXACT SELECT ON t FROM dpo")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            dora.execute("FETCH 2 FROM c")
    assert [(e[0], e[2], e[4], e[6]) for e in shown(proxy) if e[0] == "dora"] == [
        ("dora", "exact plan", None, sql),
        ("dora", "exact", None, sql),
        ("dora", "refused", "42501", sql),
    ]


def test_exact_answers_are_true_free_and_recorded_before(proxy: Proxy):
    count, rows, other = ask(
        proxy,
        "dora",
        "SELECT count(*) FROM t",
        "SELECT * FROM t WHERE x = 49 ORDER BY y LIMIT 2",
        "SHOW dp.last_cost",
    )
    assert count == [(500,)]
    assert rows == [(49, "b", 4242424291), (49, "b", 4242424341)]
    assert other == [("",)]
    assert [(e[0], e[2], e[6]) for e in shown(proxy)] == [
        ("dora", "exact plan", "SELECT count(*) FROM t"),
        ("dora", "exact", "SELECT count(*) FROM t"),
        ("dora", "exact plan", "SELECT * FROM t WHERE x = 49 ORDER BY y LIMIT 2"),
        ("dora", "exact", "SELECT * FROM t WHERE x = 49 ORDER BY y LIMIT 2"),
    ]
    assert proxy.engine is not None
    assert proxy.engine._ledger.verify() == 0


def test_an_exact_answer_does_not_come_out_of_the_store_or_go_in(proxy: Proxy):
    ask(proxy, "dora", "SELECT count(*) FROM t")
    [[(noisy,)]] = ask(proxy, "ann", "SELECT count(*) FROM t")  # type: ignore[misc]
    [[(exact,)]] = ask(proxy, "dora", "SELECT count(*) FROM t")  # type: ignore[misc]
    assert exact == 500
    assert proxy.engine is not None
    assert [e.nano for e in proxy.engine._ledger.entries()] == [10**8]
    assert ask(proxy, "ann", "SELECT count(*) FROM t") == [[(noisy,)]]


def test_without_a_record_there_is_no_exact_answer(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise OSError("disk full")

    assert proxy.engine is not None
    monkeypatch.setattr("dpproxy.observe.audit_file.AuditFile.add", fail)
    assert ask(proxy, "dora", "SELECT count(*) FROM t") == ["58030"]
    [[(count,)]] = ask(proxy, "ann", "SELECT count(*) FROM t")  # type: ignore[misc]
    assert count is not None


def test_what_was_prepared_is_recorded_each_time_it_is_run(proxy: Proxy):
    with psycopg.connect(proxy.dsn("dora"), autocommit=True) as connection:
        for x in (1, 2, 1):
            connection.execute("SELECT count(*) FROM t WHERE x = %s", (x,), prepare=True)
    runs = [str(e[6]) for e in shown(proxy) if e[2] == "exact"]
    assert [run.partition(" -- ")[2] for run in runs] == ["$1 = 1", "$1 = 2", "$1 = 1"]


def test_what_a_client_reads_of_the_catalogue_is_not_recorded(proxy: Proxy):
    ask(
        proxy,
        "ann",
        "SELECT relname FROM pg_class",
        "SELECT * FROM dp.budgets",
        "SHOW dp.budget_remaining",
        "BEGIN",
    )
    assert shown(proxy) == []


def test_no_value_of_a_row_is_in_the_record(proxy: Proxy):
    """4242424242 and what follows are values of the table alone."""
    statements = [
        "SELECT * FROM t",
        "SELECT sum(y), max(y) FROM t",
        "SELECT y / 0 FROM t",
        "SELECT y FROM t GROUP BY x",
    ]
    ask(
        proxy,
        "dora",
        *statements,
        "SELECT CAST(y AS smallint) FROM t",
        "SELECT y * 9000000000000000000 FROM t",
    )
    ask(proxy, "ann", *statements, "SELECT max(y) FROM t")
    assert len(shown(proxy)) > 10
    stored = b"".join(file.read_bytes() for file in (proxy.folder / "state" / "main").glob("audit.sqlite*"))
    assert b"SELECT * FROM t" in stored
    assert b"42424242" not in stored
    assert "42424242" not in repr(shown(proxy))


def test_the_record_survives_and_verifies(tmp_path: Path):
    file = write_home(tmp_path, DDL, POLICY, users=USERS)
    for _ in range(2):
        with serving(file) as proxy:
            ask(proxy, "dora", "SELECT count(*) FROM t")
    with serving(file) as proxy:
        assert proxy.engine is not None
        assert proxy.engine.log.verify() == 4
        assert {e.outcome for _, e in proxy.engine.log.last(9)} == {
            AuditOutcome.EXACT,
            AuditOutcome.EXACT_PLAN,
        }


def test_figures_and_lines_of_a_server(tmp_path: Path):
    """As a process of its own, as it is configured."""
    config = write_home(tmp_path, DDL, POLICY, users=USERS)
    config.write_text(f"{config.read_text()}{MORE}")
    with spawned(config) as proxy:
        assert proxy.process is not None
        assert proxy.process.stderr is not None
        line = next(line for line in proxy.process.stderr if "metrics on " in line)
        url = line.partition("metrics on ")[2].strip()
        ask(proxy, "ann", "SELECT count(*) FROM t", "SELECT nothing FROM t")
        with urllib.request.urlopen(url, timeout=5) as answer:
            text = answer.read().decode()
        _, rest = end(proxy)
    lines = [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
    assert 'dpproxy_statements_total{database="main",outcome="answered",sqlstate=""} 1.0' in text
    assert 'dpproxy_budget_spent_epsilon{budget="b",database="main"} 0.1' in text
    commits = re.search(r'dpproxy_ledger_commit_seconds_count{database="main"} (.*)', text)
    assert commits is not None
    assert commits[1] in ("1.0", "2.0")  # the charge, and the answer where nothing shared its commit in time
    assert [(told["database"], told["outcome"], told["sqlstate"]) for told in lines] == [
        ("main", "answered", None),
        ("main", "refused", "42703"),
    ]


def test_a_failed_login_is_on_record(proxy: Proxy):
    for user, database in (("ann", "main"), ("nobody", "main"), ("x" * 100, "elsewhere")):
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(proxy.dsn(user, password="wrong", dbname=database))
    names = ("ann", "nobody", "x" * 63)
    told = "password authentication failed, from 127.0.0.1"
    found = [row for row in shown(proxy) if row[2] == "login failed"]
    assert [row[:2] + row[4:] for row in found] == [(name, "", "28P01", told, "") for name in names]


def test_drafts_are_not_recorded(proxy: Proxy):
    draft = "EXPLAIN (PRIVACY, DRAFT, FORMAT JSON) SELECT count(*) FROM"
    assert (
        ask(proxy, "ann", f"{draft} t", f"{draft} nothing", "EXPLAIN (PRIVACY) SELECT count(*) FROM t")[1]
        == "42P01"
    )
    assert [row[2] for row in shown(proxy)] == ["explained"]
