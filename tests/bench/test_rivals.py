"""The comparison runs from end to end over few rows, and its page shows what the code asks; no number is asserted."""

import json
import sys
from pathlib import Path

import duckdb
import pytest

from tests.bench import results
from tests.bench.rivals import candidates, page
from tests.bench.rivals.__main__ import FULL, main
from tests.bench.rivals.candidates import BARE, PEERS, PROXY, Peer
from tests.bench.rivals.measuring import Effort, Found, fitting, in_turns, summed
from tests.bench.rivals.questions import ADULTS, QUESTIONS, generated, shaped, statements, truths

PEER = """
import sys
sys.path.insert(0, {folder!r})
import serve

def load(tables):
    people = tables["people"]
    def prepare(question, epsilon):
        if question != "count":
            raise serve.Refused("only counts, | and `nothing` else")
        return lambda: [[sum(people["age"] >= 40) + 3]]
    return prepare

serve.main("1.2", load)
"""


@pytest.fixture
def wrong_by_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that counts, three too many; the others are not installed."""
    script = tmp_path / "peer.py"
    script.write_text(PEER.format(folder=str(Path(page.__file__).parent)), encoding="utf-8")
    nowhere = tmp_path / "nowhere"
    peers = (
        Peer(PEERS[0].name, str(script), Path(sys.executable)),
        *(Peer(p.name, p.script, nowhere) for p in PEERS[1:]),
    )
    monkeypatch.setattr(candidates, "PEERS", peers)


@pytest.mark.usefixtures("wrong_by_three")
def test_the_quick_run_asks_everybody_who_is_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    numbers, picture = tmp_path / "numbers.json", tmp_path / "picture.png"
    assert main(["--small", "--json", str(numbers), "--plot", str(picture)]) == 0
    found = json.loads(numbers.read_text(encoding="utf-8"))
    asked = {(one["candidate"], one["question"]): one for one in found}
    assert asked.keys() == {(c, q.name) for c in (BARE, PROXY, PEERS[0].name) for q in QUESTIONS}
    assert all(not one["refused"] for one in found if one["candidate"] in (BARE, PROXY))
    assert asked[PEERS[0].name, "count"]["errors"] == [3.0]
    assert "only counts" in asked[PEERS[0].name, "sum"]["refused"]
    assert picture.stat().st_size > 10_000
    out = capsys.readouterr().out
    assert f"Not installed: {PEERS[1].name}, {PEERS[2].name}." in out
    assert "only counts, / and 'nothing' else" in out


def test_the_true_answers_are_those_of_the_rows():
    with duckdb.connect() as connection:
        for statement in statements(ADULTS):
            connection.execute(statement)
        assert connection.execute("SELECT count(*) FROM people").fetchone() == (30162,)
        most = "SELECT max(n) FROM (SELECT count(*) AS n FROM visits GROUP BY person)"
        assert connection.execute(most).fetchone() == (4,)
        for question in QUESTIONS:
            found = truths(connection, question)
            assert found.shape == (max(1, len(question.key)), len(question.measures))
            same = shaped(question, connection.execute(question.varied(3)).fetchall())
            assert (found == same).all()


def test_an_error_is_over_runs_and_groups_and_who_takes_long_is_asked_less():
    question = QUESTIONS[0]
    told = candidates.Told([[[5]], [[1]]], 0.5, [0.1])
    with duckdb.connect() as connection:
        for statement in statements(generated(10)):
            connection.execute(statement)
        true = truths(connection, question)
    one = summed(ADULTS, question, 1.0, PROXY, [told], true * 0 + 2)
    assert one.errors == pytest.approx([5**0.5])
    assert (one.runs, one.first, one.again) == (2, 500, 100)
    assert fitting([], 9) == 3
    assert fitting([told], 9) == 90
    runs: list[int] = []

    def slow(_question: object, _epsilon: float, count: int) -> candidates.Told:
        runs.append(count)
        return candidates.Told([[[5]]] * count, 0.5, [0.1] * (count - 1))

    in_turns({PROXY: slow}, question, 1.0, Effort(single=50, limit=1e9))
    assert sum(runs) == 50


def test_what_cannot_be_told_apart_shares_the_first_place():
    assert page.smallest({"a": (1.0, 400), "b": (1.2, 400), "c": (1.3, 400)}) == "a, b"
    assert page.smallest({"a": (1.0, 10_000), "b": (1.2, 10_000)}) == "a"
    assert page.smallest({}) == ""


def test_the_stored_tables_have_the_columns_and_cases_of_the_code():
    errors, times = results.read("rivals-errors").rows, results.read("rivals-times").rows
    assert (tuple(errors[0]), tuple(times[0])) == (page.ERRORS, page.TIMES)
    wanted = [(w.name, f"{e:g}") for w, epsilons, _ in FULL for e in sorted(epsilons, reverse=True)]
    assert [tuple(row[:4]) for row in errors[1:]] == [
        (*of, question.what, measure)
        for of in wanted
        for question in QUESTIONS
        for measure in question.measures
    ]
    assert [tuple(row[:2]) for row in times[1:]] == [(w.name, q.what) for w, _, _ in FULL for q in QUESTIONS]
    assert "not installed" not in str((errors, times)).lower()
    assert page.PICTURE.stat().st_size > 10_000
    text = results.PAGE.read_text(encoding="utf-8")
    for question in QUESTIONS:
        assert f"`{question.sql}`" in text


def test_the_picture_needs_no_peer(tmp_path: Path):
    found = [
        Found("w", q.name, 1.0, who, runs=1, errors=[1.0] * len(q.measures), first=1.0, again=1.0)
        for q in QUESTIONS
        for who in (BARE, PROXY)
    ]
    page.draw(found, tmp_path / "x.png")
    assert (tmp_path / "x.png").exists()
