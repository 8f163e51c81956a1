"""Answers that cost nothing: the ledger is asked once whether anything was charged, wherever it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.accounting import book
from dpproxy.accounting import ledger as module
from dpproxy.accounting.ledger import Ledger
from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import Request, complete
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.answers import Answers
from dpproxy.engine.engine import Engine
from dpproxy.engine.plans import Plans
from dpproxy.values.errors import LedgerUnavailable
from tests.engine.test_answers import ANN, BOB, DDL, POLICY, ask
from tests.postgres import Server
from tests.proxies import started, write_home

pytestmark = pytest.mark.usefixtures("in_process")

ROOT = Caller("root", frozenset({"admin"}), "session of root")
COUNT = "SELECT count(*) FROM t WHERE x > 50"


@pytest.fixture(params=["file", "server"])
def engines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Engine, Engine]]:
    """Two over one ledger, each with a copy of the data."""
    state = f'[state]\ndirectory = "{tmp_path / "state"}"'
    if request.param == "server":
        server: Server = request.getfixturevalue("postgres")
        state += f'\nledger = "{server.url(server.database())}"'
    homes = [write_home(tmp_path / name, DDL, POLICY) for name in ("one", "other")]
    for home in homes:
        text = home.read_text(encoding="utf-8").replace('[state]\ndirectory = "state"', state)
        home.write_text(text, encoding="utf-8")
    with started(homes[0]) as one, started(homes[1]) as other:
        for engine in (one, other):
            for caller in (ANN, BOB):
                engine.open(caller)
        yield one, other
    if request.param == "server":
        request.getfixturevalue("postgres").tidy()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements by which the ledger is read."""
    found: list[str] = []
    read = Ledger.read

    def counted(ledger: Ledger, query: object) -> object:
        class Counting:
            def __init__(self, connection: book.StoreConnection) -> None:
                self.connection = connection

            def execute(self, sql: str, values: object = ()) -> object:
                found.append(sql)
                return self.connection.execute(sql, values)  # type: ignore[arg-type]

        return read(ledger, lambda connection: query(Counting(connection)))  # type: ignore[operator]

    monkeypatch.setattr(Ledger, "read", counted)
    return found


@pytest.fixture
def _anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is read for each answer, as that of a file always is."""
    monkeypatch.setattr(module, "FRESH", 0.0)


@pytest.mark.usefixtures("_anew")
def test_an_answer_that_was_given_again_is_read_by_one_statement(
    engines: tuple[Engine, Engine], reads: list[str]
):
    first = ask(engines[0], COUNT, ANN)
    second = ask(engines[0], COUNT, ANN)
    reads.clear()
    assert ask(engines[0], COUNT, ANN) == second
    assert (second.rows, second.nano) == (first.rows, 0)
    assert reads == [book.HEAD]
    assert engines[0].show(ANN, "dp.last_cost", DEFAULTS) == "0"


@pytest.mark.parametrize("engines", ["server"], indirect=True)
def test_for_a_moment_a_server_is_not_asked_again(
    engines: tuple[Engine, Engine], reads: list[str], monkeypatch: pytest.MonkeyPatch
):
    one, other = engines
    for _ in range(2):
        ask(one, COUNT, ANN)
    monkeypatch.setattr(module, "FRESH", 3600.0)
    before = ask(one, COUNT, ANN)
    reads.clear()
    assert ask(one, COUNT, ANN) == before
    settings = {**DEFAULTS, "dp.epsilon": "4"}
    request = Request(ANN, complete(one.prepare(ANN, COUNT, (), settings)), (), settings)
    assert one.run(request, only_at_hand=True) == before
    assert not reads
    ask(one, "SELECT sum(x) FROM t", ANN, "1")  # what is charged here is known at once
    assert one.run(request, only_at_hand=True) is None
    after = ask(one, COUNT, ANN)
    assert (after.rows, after.nano) == (before.rows, 0)
    assert after.notices != before.notices
    one._ledger._seen = 0.0, one._ledger._seen[1]  # the moment is over
    ask(other, "SELECT avg(x) FROM t", ANN, "1")
    assert one.run(request, only_at_hand=True) is None
    assert ask(one, COUNT, ANN).notices != after.notices


def test_an_altered_ledger_is_no_moment_known(engines: tuple[Engine, Engine]):
    one, _ = engines
    for _ in range(3):
        ask(one, COUNT, ANN)
    one._ledger._altered = "it does not verify"
    with pytest.raises(LedgerUnavailable):
        ask(one, COUNT, ANN)


@pytest.mark.usefixtures("_anew")
def test_whatever_another_proxy_charges_shows_in_what_is_left(engines: tuple[Engine, Engine]):
    one, other = engines
    ask(one, COUNT, ANN)
    before = [ask(one, COUNT, ANN) for _ in range(2)]
    ask(other, "SELECT sum(x) FROM t", ANN)
    after = ask(one, COUNT, ANN)
    assert before[0] == before[1]
    assert (after.rows, after.nano) == (before[0].rows, 0)
    assert after.notices != before[0].notices


def test_nobody_is_given_what_another_has_paid_for(engines: tuple[Engine, Engine]):
    for _ in range(3):
        ask(engines[0], COUNT, ANN)
    assert ask(engines[0], COUNT, BOB).nano > 0


def test_what_is_charged_is_not_held(engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch):
    runs: list[Caller] = []
    rows = Answers.rows

    def counted(self: Answers, execution: object, replan: object) -> object:
        runs.append(ANN)
        return rows(self, execution, replan)  # type: ignore[arg-type]

    monkeypatch.setattr(Answers, "rows", counted)
    assert ask(engines[0], COUNT, ANN).nano > 0
    assert [ask(engines[0], COUNT, ANN).nano for _ in range(3)] == [0, 0, 0]
    assert len(runs) == 2


def test_data_that_are_new_while_a_statement_is_planned_have_an_answer_of_their_own(
    engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch
):
    engine, _ = engines
    ask(engine, COUNT, ANN)
    plan = Plans.plan

    def followed(self: Plans, request: Request, losses: object = None) -> object:
        found = plan(self, request, losses)  # type: ignore[arg-type]
        monkeypatch.setattr(Plans, "plan", plan)
        ask(engine, "ADVANCE PRIVACY DATA VERSION", ROOT)
        return found

    monkeypatch.setattr(Plans, "plan", followed)
    assert ask(engine, COUNT, ANN).nano == 0
    assert ask(engine, COUNT, ANN).nano > 0
