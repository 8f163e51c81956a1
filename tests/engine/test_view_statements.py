"""Protected views through the engine: what is built, charged, refused and read."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from dpproxy.accounting.model import NANO, Account
from dpproxy.algebra.plan import Caller
from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import Progress
from dpproxy.engine.engine import Engine
from dpproxy.engine.view_statements import _parenthesis
from dpproxy.values.errors import (
    BoundsMissing,
    BudgetExceeded,
    Internal,
    InvalidParameter,
    NotGranted,
    Refusal,
    UndefinedColumn,
    UndefinedTable,
    UnitLost,
)
from tests.hospital import ANN, EVE, ROOT, Plain, ask, home
from tests.proxies import started

pytestmark = pytest.mark.usefixtures("in_process")

VIEW = "CREATE PROTECTED VIEW v WITH (method = plain, epsilon = 2, charge = research) AS SELECT age, cost FROM patients"
GRANT = "GRANT SELECT ON v TO analyst"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "plain", Plain())
    monkeypatch.setattr(Plain, "before", staticmethod(lambda _: None))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with started(home(tmp_path)) as engine:
        yield engine


def spent(engine: Engine) -> tuple[int, int]:
    """What the ceiling and the budget have paid."""
    ledger = engine._ledger
    return ledger.spent(Account.ceiling("patients")) // NANO, ledger.spent(Account.budget("research")) // NANO


def listed(engine: Engine) -> dict[str, object]:
    [row] = [r for r in ask(engine, "SHOW PRIVACY VIEWS").rows if "not finished" not in str(r[2])]
    return dict(zip((c.name for c in ask(engine, "SHOW PRIVACY VIEWS").columns or ()), row, strict=True))


@pytest.mark.parametrize(("method", "error"), [("plain", ""), ("dp_marginals", "two columns: about ")])
def test_its_price_and_error_are_told_before_it_is_paid(engine: Engine, method: str, error: str):
    asked = VIEW.replace("plain", method)
    told = "\n".join(str(row[0]) for row in ask(engine, f"EXPLAIN (PRIVACY) {asked}").rows)
    assert 'protected view "v": cost 2 epsilon' in told
    assert "epsilon 2" in told
    assert error in told
    assert (spent(engine), ask(engine, "SHOW PRIVACY VIEWS").rows) == ((0, 0), [])
    with pytest.raises(Refusal) as caught:
        ask(engine, f"EXPLAIN (PRIVACY) {asked.replace('cost FROM', 'nothing FROM')}")
    assert caught.value.position == len(f"EXPLAIN (PRIVACY) {asked.partition('cost FROM')[0]}")


def test_a_view_is_charged_once_and_read_for_nothing(engine: Engine):
    answer = ask(engine, VIEW)
    assert answer.tag == "CREATE PROTECTED VIEW"
    built, declared = answer.notices
    assert built.message == 'protected view "v" is built: cost 2 epsilon'
    assert declared.message == (
        "view v [weaker]: whoever it is granted to reads what plain makes of its query at epsilon 2"
    )
    assert declared.detail.startswith("was: nothing; now: CREATE PROTECTED VIEW v WITH (")
    assert spent(engine) == (2, 2)
    ask(engine, GRANT)
    for _ in range(3):
        [[count, oldest, total]] = ask(engine, "SELECT count(*), max(age), sum(cost) FROM v", ANN).rows
    assert (count, oldest) == (60, 99)
    assert total == sum(Decimal(i * 7 % 900) + Decimal("0.25") for i in range(60))
    assert spent(engine) == (2, 2)
    assert (listed(engine)["state"], listed(engine)["epsilon"]) == ("released", 2)


def test_what_is_built_as_declared_is_not_built_again_and_refresh_is(engine: Engine):
    ask(engine, VIEW)
    assert "already" in ask(engine, VIEW).notices[0].message
    assert spent(engine) == (2, 2)
    ask(engine, "REFRESH PROTECTED VIEW v")
    assert spent(engine) == (4, 4)
    _, declared = ask(engine, VIEW.replace("epsilon = 2", "epsilon = 1")).notices
    assert "epsilon is 1, it was 2" in declared.message
    assert spent(engine) == (5, 5)
    assert listed(engine)["epoch"] == 3


def test_only_whom_it_is_granted_to_reads_a_view(engine: Engine):
    ask(engine, VIEW)
    with pytest.raises(NotGranted):
        ask(engine, "SELECT age FROM v", ROOT)
    with pytest.raises(UndefinedTable):
        ask(engine, "SELECT age FROM v", ANN)
    ask(engine, GRANT)
    assert len(ask(engine, "SELECT age FROM v", ANN).rows) == 60
    with pytest.raises(UndefinedTable):
        ask(engine, "SELECT age FROM v", EVE)
    ask(engine, "REVOKE SELECT ON v FROM analyst")
    with pytest.raises(UndefinedTable):
        ask(engine, "SELECT age FROM v", ANN)


def test_views_are_joined_with_public_tables_with_each_other_and_with_protected_ones(engine: Engine):
    ask(engine, VIEW)
    ask(engine, GRANT)
    joined = "SELECT decade, count(*) FROM v JOIN ages USING (age) GROUP BY decade ORDER BY 1"
    assert len(ask(engine, joined, ANN).rows) == 10
    [[pairs]] = ask(engine, "SELECT count(*) FROM v AS a JOIN v AS b ON a.age = b.age", ANN).rows
    assert pairs == 60
    charged = "SELECT count(*) FROM patients WHERE age IN (SELECT age FROM v)"
    assert len(ask(engine, charged, ANN).rows) == 1
    assert spent(engine) == (3, 3)


def test_what_is_not_private_is_no_input_and_frozen_and_says_so(engine: Engine):
    masked = "CREATE PROTECTED VIEW v WITH (method = mdav, k = 5) AS SELECT age, cost FROM patients"
    assert "no finite bound" in ask(engine, masked).notices[0].message
    assert spent(engine) == (0, 0)
    assert "no finite bound" in ask(engine, GRANT).notices[0].message
    assert "analyst" in ask(engine, "SHOW PRIVACY BUDGETS").notices[0].message
    assert len(ask(engine, "SELECT age FROM v", ANN).rows) == 60
    for sql in (
        "SELECT count(*) FROM patients WHERE age IN (SELECT age FROM v)",
        "SELECT count(*) FROM patients AS p JOIN v ON p.age = v.age",
        "SELECT count(*), (SELECT max(age) FROM v) FROM patients",
    ):
        with pytest.raises(UnitLost, match="not differentially private"):
            ask(engine, sql, ANN)
    with pytest.raises(InvalidParameter, match="frozen"):
        ask(engine, "REFRESH PROTECTED VIEW v")
    other = masked.replace(" v ", " w ").replace("k = 5", "k = 6")
    with pytest.raises(InvalidParameter, match="same rows"):
        ask(engine, other)
    ask(engine, "DROP PROTECTED VIEW v")
    with pytest.raises(InvalidParameter, match="same rows"):
        ask(engine, other)
    ask(engine, other.replace("k = 6", "k = 6, reason = 'a second study'"))
    ask(engine, "ADVANCE PRIVACY DATA VERSION")
    ask(engine, "REFRESH PROTECTED VIEW w")
    assert listed(engine)["data_version"] == 2


@pytest.mark.parametrize(
    ("sql", "kind", "at"),
    [
        (VIEW.replace("plain", "nothing"), InvalidParameter, "nothing"),
        (VIEW.replace("epsilon = 2", "epsilon = x"), InvalidParameter, "x"),
        (VIEW.replace("epsilon = 2", "l = 2"), InvalidParameter, "2"),
        (VIEW.replace("age, cost", "agee"), UndefinedColumn, "agee"),
        (VIEW.replace("age, cost", "id"), NotGranted, None),
        (VIEW.replace("age, cost", "name"), NotGranted, None),
        (VIEW.replace("age, cost FROM patients", "hours FROM visits"), UnitLost, "hours"),
        (VIEW.replace("age, cost", "count(*)"), UnitLost, "SELECT"),
        (VIEW.replace("age, cost FROM patients", "age FROM ages"), InvalidParameter, "SELECT"),
        (VIEW.replace("epsilon = 2", "epsilon = 200"), BudgetExceeded, None),
    ],
)
def test_what_cannot_be_built_costs_nothing(engine: Engine, sql: str, kind: type[Refusal], at: str | None):
    with pytest.raises(kind) as caught:
        ask(engine, sql)
    assert caught.value.hint
    if at is not None:
        assert caught.value.position is not None
        assert sql[caught.value.position :].startswith(at) or at == "SELECT"
    assert spent(engine) == (0, 0)
    assert not ask(engine, "SHOW PRIVACY VIEWS").rows


def test_one_row_of_each_person_is_made_by_grouping(engine: Engine):
    by_person = "SELECT avg(hours) AS hours, count(*) AS n FROM visits GROUP BY patient"
    ask(engine, f"CREATE PROTECTED VIEW v WITH (method = plain) AS {by_person}")
    ask(engine, GRANT)
    [[people, most]] = ask(engine, "SELECT count(*), max(n) FROM v", ANN).rows
    assert (people, most) == (50, 3)


def test_star_leaves_out_who_people_are(engine: Engine):
    answer = ask(engine, "CREATE PROTECTED VIEW v WITH (method = plain) AS SELECT * FROM patients")
    assert "Left out, since they tell people apart: id, name" in (answer.notices[0].detail or "")
    ask(engine, GRANT)
    columns = ask(engine, "SELECT * FROM v LIMIT 0", ANN).columns or ()
    assert [c.name for c in columns] == ["age", "sex", "cost", "born"]


def test_a_failure_while_building_keeps_the_old_view_and_the_charge(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    ask(engine, VIEW)
    ask(engine, GRANT)

    def fail(_: Progress) -> None:
        raise Internal("lost")

    monkeypatch.setattr(Plain, "before", staticmethod(fail))
    for sql in ("REFRESH PROTECTED VIEW v", VIEW.replace("cost FROM", "sex FROM")):
        with pytest.raises(Internal):
            ask(engine, sql)
    assert spent(engine) == (6, 6)
    assert len(ask(engine, "SELECT age, cost FROM v", ANN).rows) == 60
    assert (listed(engine)["epoch"], listed(engine)["builds"]) == (1, 3)


def test_views_and_their_grants_outlive_a_restart_and_a_lost_cache(tmp_path: Path):
    file = home(tmp_path)
    with started(file) as engine:
        ask(engine, VIEW)
        ask(engine, GRANT)
        before = sorted(ask(engine, "SELECT * FROM v", ANN).rows)
    for cache in (tmp_path / "state" / "main").glob("prepared-*"):
        cache.unlink()
    with started(file) as engine:
        assert sorted(ask(engine, "SELECT * FROM v", ANN).rows) == before
        ask(engine, "DROP PROTECTED VIEW v")
        assert not list((tmp_path / "state" / "main" / "views").glob("*.duckdb"))
        with pytest.raises(UndefinedTable):
            ask(engine, "SELECT * FROM v", ANN)


def test_policy_files_build_what_they_declare_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = home(tmp_path, f"{VIEW};\n{GRANT};\n")
    for _ in range(2):
        with started(file) as engine:
            assert len(ask(engine, "SELECT * FROM v", ANN).rows) == 60
            assert spent(engine) == (2, 2)
    monkeypatch.setattr(Plain, "before", staticmethod(lambda _: 1 / 0))
    (tmp_path / "policy.sql").write_text(
        (tmp_path / "policy.sql").read_text().replace("epsilon = 2", "epsilon = 1")
    )
    for _ in range(2):  # a build that fails is not begun again at every start, and the old view stays
        with started(file) as engine:
            assert spent(engine) == (3, 3)
            assert len(ask(engine, "SELECT cost FROM v", ANN).rows) == 60
            assert listed(engine)["state"] == "released, of an older declaration"


def test_a_start_does_not_release_by_another_query_what_nobody_applied(tmp_path: Path):
    file = home(tmp_path, f"{VIEW};\n{GRANT};\n")
    with started(file):
        pass
    policy = tmp_path / "policy.sql"
    policy.write_text(policy.read_text().replace("cost FROM", "sex FROM"))
    with started(file) as engine:
        assert spent(engine) == (2, 2)
        assert len(ask(engine, "SELECT cost FROM v", ANN).rows) == 60


def test_a_view_whose_tables_changed_is_kept_and_said_to_be_stale(engine: Engine):
    ask(engine, VIEW)
    ask(engine, GRANT)
    ask(engine, "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 50")
    assert "stale" in str(listed(engine)["state"])
    ask(engine, "ALTER TABLE patients ALTER COLUMN age SET PRIVACY HIDDEN")
    assert "refused" in str(listed(engine)["state"])
    assert len(ask(engine, "SELECT age FROM v", ANN).rows) == 60
    with pytest.raises(UndefinedColumn):
        ask(engine, "REFRESH PROTECTED VIEW v")


def test_exact_figures_are_for_those_with_exact_select_and_on_record(engine: Engine):
    masked = "CREATE PROTECTED VIEW v WITH (method = mdav, k = 5) AS SELECT age, cost FROM patients"
    ask(engine, masked)
    ask(engine, VIEW.replace(" v ", " w "))
    answer = ask(engine, "VERIFY PROTECTED VIEW v, w")
    names = [c.name for c in answer.columns or ()]
    shown = [dict(zip(names, row, strict=True)) for row in answer.rows]
    assert [r["view"] for r in shown] == ["v", "w"]
    assert all(r["linkage_risk"] is None and r["achieved"] is None for r in shown)
    assert "not shown" in answer.notices[0].message
    ask(engine, "GRANT EXACT SELECT ON patients TO dpo")
    dpo = Caller("dee", frozenset({"admin", "dpo"}), "session-dee")
    answer = ask(engine, "VERIFY PROTECTED VIEW v, w", dpo)
    shown = [dict(zip(names, row, strict=True)) for row in answer.rows]
    assert answer.notices == ()
    assert 0 < float(str(shown[0]["information_loss"])) < 1
    assert shown[1]["mean_change"] == 0
    assert any(row[4] == "exact" for row in ask(engine, "SHOW PRIVACY AUDIT").rows)
    with pytest.raises(UndefinedTable):
        ask(engine, "VERIFY PROTECTED VIEW v, x", dpo)


def test_risk_is_by_what_intruders_know_and_anatomy_has_no_loss(engine: Engine):
    options = "quasi = (age), sensitive = (cost)"
    ask(
        engine,
        f"CREATE PROTECTED VIEW v WITH (method = mdav, k = 5, {options}) AS SELECT age, cost FROM patients",
    )
    anatomy = f"method = t_closeness, t = 3, k = 4, release = anatomy, reason = 'a test', {options}"
    ask(engine, f"CREATE PROTECTED VIEW w WITH ({anatomy}) AS SELECT age, cost FROM patients")
    ask(engine, "GRANT EXACT SELECT ON patients TO dpo")
    dpo = Caller("dee", frozenset({"admin", "dpo"}), "session-dee")
    answer = ask(engine, "VERIFY PROTECTED VIEW v, w", dpo)
    names = [c.name for c in answer.columns or ()]
    masked, shown = (dict(zip(names, row, strict=True)) for row in answer.rows)
    assert float(str(masked["linkage_risk"])) <= 20  # one of five
    assert float(str(masked["linkage_risk_informed"])) > 50
    assert [
        shown[n] for n in ("information_loss", "sse", "matched_sse", "mean_change", "linkage_risk_informed")
    ] == [None] * 5
    assert float(str(shown["linkage_risk"])) > 0


def test_order_statistics_of_what_stays_inside_are_charged(engine: Engine):
    inside = (
        "CREATE PROTECTED VIEW v WITH (method = dp_microaggregation, k = 5, epsilon = 1, release = query)"
    )
    ask(engine, f"{inside} AS SELECT age, cost FROM patients")
    with pytest.raises(BoundsMissing):
        ask(engine, GRANT)
    ask(engine, f"{GRANT} WITH PRIVACY BUDGET research")
    first = ask(engine, "SELECT min(age), max(age) FROM v", ANN, epsilon="2").rows
    assert ask(engine, "SELECT max(age), min(age) FROM v", ANN, epsilon="2").rows == [first[0][::-1]]
    assert spent(engine) == (3, 2)  # once, and the build
    with pytest.raises(UnitLost):
        ask(engine, "SELECT min(age) FROM v WHERE age > 3", ANN)
    text = "\n".join(str(r[0]) for r in ask(engine, "EXPLAIN (PRIVACY) SELECT min(cost) FROM v", ANN).rows)
    assert "k = 5" in text


def test_administrators_alone_build_and_list(engine: Engine):
    for sql in (VIEW, "REFRESH PROTECTED VIEW v", "DROP PROTECTED VIEW v", "SHOW PRIVACY VIEWS"):
        with pytest.raises(NotGranted):
            ask(engine, sql, ANN)
    with pytest.raises(UndefinedTable):
        ask(engine, "REFRESH PROTECTED VIEW v")


def test_the_guarantee_says_whose_presence_it_is_about(engine: Engine):
    ask(engine, VIEW)
    assert str(listed(engine)["guarantee"]).endswith(": one id of patients more or less")


def test_a_table_s_name_may_hold_a_parenthesis():
    assert _parenthesis('"T(" (x) MEASURES (count(*))') == 5
