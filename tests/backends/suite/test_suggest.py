"""SUGGEST PRIVACY ... WITH EPSILON on every engine: what the engine cannot run is refused before it is charged."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import psycopg
import pytest

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import PreparedTable
from dpproxy.backends.failures import failure
from dpproxy.backends.servers.dialect import Unanswered
from dpproxy.observe.audit_entry import AuditOutcome
from tests.backends.suite.engines import Engine, proxied
from tests.proxies import Proxy

DDL = (
    "CREATE TABLE ev (person INTEGER NOT NULL, seen TIMESTAMP, day DATE, amount DECIMAL(8, 2), weight DOUBLE)",
    """INSERT INTO ev SELECT i, TIMESTAMP '2016-01-01 00:00:00' + INTERVAL (i) MINUTE,
       DATE '2016-01-01' + (i % 300)::INTEGER, (i % 90) + 0.25, (i % 50) + 1.5 FROM range(2000) AS r (i)""",
)
POLICY = """
ALTER TABLE ev SET PRIVACY KEY (person) MAX ROWS 1;
ALTER TABLE ev SET PRIVACY CEILING EPSILON 100;
CREATE PRIVACY BUDGET b LIMIT EPSILON 100;
GRANT SELECT ON ev TO analyst WITH PRIVACY BUDGET b;
"""


@pytest.fixture(scope="module")
def proxy(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Proxy]:
    with proxied(engine, DDL, POLICY, tmp_path_factory.mktemp("suggest"), request) as proxy:
        yield proxy


def accounts(proxy: Proxy) -> tuple[Fraction, Fraction]:
    """What the ledger has, and what the audit log says."""
    assert proxy.engine is not None
    charged = sum(entry.nano for entry in proxy.engine._ledger.entries())
    told = sum(entry.nano for _, entry in proxy.engine.log.last(1000))
    return Fraction(charged, 10**9), Fraction(told, 10**9)


PROBE = "SUGGEST PRIVACY FOR ev WITH EPSILON 32"


def test_what_the_source_cannot_run_is_refused_for_nothing(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    """The second of four columns is what it cannot: the first is not asked either."""
    assert proxy.engine is not None
    source, seen = proxy.engine._backend, list[nodes.Query]()
    real = source.check

    def check(query: nodes.Query, prepares: Sequence[PreparedTable] = ()) -> None:
        seen.append(query)
        if len(seen) == 2:
            raise Unanswered("this statement")
        real(query, prepares)

    monkeypatch.setattr(source, "check", check)
    root = psycopg.connect(proxy.dsn("root"), autocommit=True)
    with root, pytest.raises(psycopg.errors.FeatureNotSupported):
        root.execute(PROBE)
    assert len(seen) == 2
    assert accounts(proxy) == (0, 0)


def test_what_fails_over_rows_stays_charged_and_is_on_record(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    assert proxy.engine is not None

    def run(*_: object, **__: object) -> object:
        raise failure("exact")

    monkeypatch.setattr(proxy.engine._backend, "run", run)
    with psycopg.connect(proxy.dsn("ann"), autocommit=True) as ann:
        ann.execute("SET dp.epsilon = 0.25")
        with pytest.raises(psycopg.Error):
            ann.execute("SELECT count(*) FROM ev")
    assert accounts(proxy) == (Fraction("0.25"), Fraction("0.25"))
    assert proxy.engine.log.last(1)[0][1].outcome is AuditOutcome.REFUSED


@pytest.mark.statistical
def test_columns_of_every_type_are_bounded_for_what_was_asked(proxy: Proxy):
    """False alarm: at epsilon 8 a column, an interval of hundreds of rows is missed with less than 1e-9."""
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        rows = root.execute(PROBE).fetchall()
        found = {s.split()[5]: s.split("PRIVACY ")[1] for s, _ in rows if "QUANTILES" not in s}
        assert (
            found["seen"]
            == "DOMAIN BETWEEN TIMESTAMP '2015-01-01 00:00:00' AND TIMESTAMP '2020-01-01 00:00:00';"
        )
        assert found["day"] == "DOMAIN BETWEEN DATE '2015-01-01' AND DATE '2020-01-01';"
        for statement, _ in rows:
            root.execute(statement.encode())
    charged, told = accounts(proxy)
    assert charged == told >= 32
