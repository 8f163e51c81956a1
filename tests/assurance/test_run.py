"""Every attack against live twins of made-up people, and that a broken promise would be found.

The two proxies start once for all tests here, which takes some seconds.
"""

from collections.abc import Iterator

import duckdb
import pytest

from dpproxy.assurance import run as checks
from dpproxy.assurance.homes import Twins, twins
from dpproxy.assurance.model import Attack, Outcome
from dpproxy.assurance.suite import ATTACKS, Trial, trials
from tests.assurance.made_up import policy, schema, world


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    folder = tmp_path_factory.mktemp("made up")
    public = folder / "public.duckdb"
    with duckdb.connect(str(public)) as connection:
        connection.execute("CREATE TABLE wards (ward VARCHAR NOT NULL, beds INTEGER)")
        connection.executemany("INSERT INTO wards VALUES (?, ?)", world().rows["wards"])
    with twins(folder, policy(), schema(), public) as found:
        yield found


ATTACKED = ("patients", "stays")
"""A table that owns the unit, and one that refers to it and to a public table: all that templates name is there."""


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack(pair: Twins, attack: Attack):
    targets = [target for target in pair.targets if target.table in ATTACKED]
    found = checks.tried(pair, attack, [trial for trial in trials(targets) if trial.attack is attack])
    assert found.kept, found.faults
    assert not found.found.startswith("0 tried")


def test_limits_and_replays(pair: Twins):
    found = [
        checks.budget(pair, pair.targets[0]),
        *(checks.repeated(pair, target) for target in pair.targets),
    ]
    assert [one for one in found if not one.kept] == []
    assert found[0].found == "2 answered, 0.2 left"


def test_without_noise_one_person_moves_an_answer_by_its_sensitivity_at_most(pair: Twins):
    found = [one for target in pair.targets for one in checks.loud(pair, target)]
    assert [one for one in found if not one.kept] == []
    assert len(found) > 25
    reached = {one.name: one.found for one in found}
    assert reached["SELECT count(*) FROM notes"] == "by 8"
    assert reached["SELECT sum(answer) FROM survey"] == "by 5"


def test_a_sample_shows_no_more_than_was_promised(pair: Twins):
    """False alarm: 1 in 1,000 at most, as is the audit's; asked anew twice, 1e-9."""
    several = (list(checks.sampled(pair, 10, lambda _: None)) for _ in range(3))
    found = next((one for one in several if all(line.kept for line in one)), [])
    assert len(found) > 8


def test_an_answer_where_a_refusal_was_promised_is_found(pair: Twins):
    planted = Attack("planted", "", Outcome.REFUSED, ("SELECT count(*) FROM {t}",))
    [*trial] = [Trial(planted, pair.targets[0], "SELECT count(*) FROM patients WHERE weight > 21")]
    found = checks.tried(pair, planted, trial)
    assert not found.kept
    assert found.faults == ("answered: SELECT count(*) FROM patients WHERE weight > 21",)


def test_a_price_where_none_was_promised_is_found(pair: Twins):
    """False alarm: at epsilon 0.1 a count is the same of both twins once in 40 draws, all eight once in 1e12."""
    planted = Attack("planted", "", Outcome.FREE, ())
    asked = [f"SELECT count(*) FROM patients WHERE weight > 22 AND {n} = {n}" for n in range(8)]
    found = checks.tried(pair, planted, [Trial(planted, pair.targets[0], sql) for sql in asked])
    assert any("it had a price" in fault for fault in found.faults)
    assert any("the twins differ" in fault for fault in found.faults)  # nothing of it was masked


def test_a_difference_between_the_twins_is_found(pair: Twins):
    planted = Attack("planted", "", Outcome.PROMISED, ())
    left, right = pair.addresses
    crossed = Twins((left, right), pair.password, pair.targets)
    with crossed.connected("analyst") as (one, _), crossed.connected("poor") as (_, other):
        found = checks._attack(
            planted, [Trial(planted, pair.targets[0], "SHOW dp.budget_remaining")], (one, other)
        )
    assert not found.kept


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        ([[b"a", b"10"], [b"b", b"5"]], [[b"a", b"12"], [b"b", b"6"]], True),
        ([[b"a", b"10"], [b"b", b"5"]], [[b"a", b"12"], [b"b", b"7"]], False),
        ([[b"a", b"10"]], [[b"a", b"10"], [b"b", b"5"]], False),
        ([], [], False),
    ],
)
def test_a_move_is_added_up_over_all_groups(
    one: list[list[bytes | None]], other: list[list[bytes | None]], *, kept: bool
):
    columns = [{"name": "k"}, {"name": "n", "sensitivity": "3"}]
    assert checks._moved("SELECT", columns, one, other).kept is kept
