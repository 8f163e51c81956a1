"""The pages of administrators, over a real proxy: what analysts get there, and what administrators do."""

import csv
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from dpproxy.web.administrator import entries_sql
from tests.web.pages import BY_WARD, Site, site

PAGES = ("/budgets", "/spending", "/policy", "/policy?table=visits", "/views", "/audit", "/health", "/users")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/spending"])
def test_an_analyst_is_refused_by_the_proxy(shared: Site, path: str):
    answer = shared.browser("ann").send("GET", path)
    assert answer.status == 403
    assert "are for administrators" in answer.words


def test_an_analyst_sees_only_what_they_spent_themselves(own: Site):
    own.browser("ann").ask(BY_WARD)
    bob = own.browser("bob").open("/spending")
    assert "count(*)" not in bob.words
    assert "Nothing was spent yet" in bob.words
    assert "count(*) by ward on visits" in own.browser("ann").open("/spending").words


def test_an_analyst_changes_nothing(own: Site):
    browser = own.browser("ann")
    browser.open("/")
    weaker = "ALTER TABLE visits SET PRIVACY PUBLIC"
    assert "for administrators" in browser.submit("/policy", statement=weaker).words
    assert "for administrators" in browser.submit("/policy", statement=weaker, apply="1").words
    reset = browser.submit("/reset", budget="research", user="", reason="mine")
    assert (reset.status, "for administrators" in reset.words) == (403, True)
    policy = own.browser("root").open("/policy").words
    assert "KEY ROW" in policy
    assert 'href="/budgets"' not in browser.open("/").text


def test_every_page_opens_for_an_administrator(shared: Site):
    browser = shared.browser("root")
    for path in PAGES:
        answer = browser.send("GET", path)
        assert answer.status == 200, path
        assert answer.text.count('aria-current="page"') == 1
        assert "<script>" not in answer.text


def test_who_spent_what_agrees_with_the_ledger(own: Site):
    own.browser("ann").ask(BY_WARD)
    own.browser("bob").ask("SELECT sum(cost) FROM visits", epsilon="0.3")
    browser = own.browser("root")
    listed = browser.open("/budgets").words
    assert "Ceiling of visits BASIC ε 19.6 left of 20" in listed
    assert "research BASIC ε 0.6 left of 1" in listed
    assert "ann spent 0.1" in listed
    assert "bob spent 0.3" in listed
    spending = browser.open("/spending").words
    assert "bob sum(cost) on visits 1 0.3" in spending
    assert "sum(cost)" not in browser.open("/spending?who=ann").words.partition("The ledger")[2]
    filed = browser.open("/spending?who=ann&csv=1")
    assert filed.headers["content-disposition"].startswith("attachment")
    assert filed.text.count("\r\n") == 2


def test_everything_that_is_shown_agrees_with_the_ledger(own: Site):
    ann, bob, root = own.browser("ann"), own.browser("bob"), own.browser("root")
    for browser, statement, epsilon in (
        (ann, BY_WARD, "0.05"),
        (ann, BY_WARD.replace("people", "n"), "0.05"),  # free: the same again
        (ann, "SELECT age FROM visits", "0.05"),  # refused
        (ann, "SELECT avg(cost) FROM visits; -- once", "0.125"),
        (bob, "SELECT sum(cost) FROM visits WHERE age < 30", "0.3"),
    ):
        browser.ask(statement, epsilon=epsilon)
    with psycopg.connect(own.proxy.dsn("root"), autocommit=True) as connection:
        ledger = connection.execute(
            "SELECT who, what, epsilon FROM dp.ledger ORDER BY sequence DESC"
        ).fetchall()
    spent = {who: sum(e for w, _, e in ledger if w == who) for who in ("ann", "bob")}
    total = sum(spent.values())
    assert (len(ledger), spent) == (3, {"ann": Decimal("0.175"), "bob": Decimal("0.3")})
    for browser in (ann, bob):
        assert f"ε {1 - total:g} of 1" in browser.open("/").words
    budgets = root.open("/budgets").words
    assert f"Ceiling of visits BASIC ε {20 - total:.4g} left of 20" in budgets
    assert f"research BASIC ε {1 - total:.4g} left of 1" in budgets
    assert all(f"{who} spent {amount:.4g}" in budgets for who, amount in spent.items())
    lines = list(csv.DictReader(root.open("/spending?csv=1").text.splitlines()))
    assert [(one["who"], one["what"], Decimal(one["epsilon"])) for one in lines] == ledger
    assert f"3 answers from {lines[0]['at'][:10]}" in root.open("/report").words
    assert f"ε {total:.4g} altogether" in root.open("/report").words
    paid = ann.open("/history").words.partition("What you have paid for")[2]
    assert all((what in paid) == (who == "ann") for who, what, _ in ledger)
    left = root.open("/policy?table=visits").words
    assert f"a count ± 30 0.1 {int((1 - total) / Decimal('0.1'))}" in left


def test_a_filter_is_a_constant_and_no_statement():
    assert "''" in entries_sql({"who": "' OR 1=1 --"}, "")
    assert "sequence <" not in entries_sql({}, "1; SELECT")


def test_a_change_is_shown_before_it_is_made(own: Site):
    browser = own.browser("root")
    browser.open("/policy")
    weaker = "ALTER TABLE visits SET PRIVACY CEILING EPSILON 30;"
    shown = browser.submit("/policy", statement=weaker)
    assert "people are less protected" in shown.words
    assert "10 more epsilon may be learned about one unit" in shown.words
    assert "left of 20" in browser.open("/budgets").words
    made = browser.submit("/policy", statement=weaker, apply="1")
    assert "Done ALTER TABLE visits" in made.words
    assert "left of 30" in browser.open("/budgets").words
    assert "Nothing would change" in browser.submit("/policy", statement=weaker).words


def test_a_change_that_does_not_fit_shows_where(own: Site):
    browser = own.browser("root")
    browser.open("/policy")
    refused = browser.submit("/policy", statement="ALTER TABLE nothing SET PRIVACY PUBLIC")
    assert "<mark>nothing</mark>" in refused.text
    assert "changes nothing" in browser.submit("/policy", statement="SELECT floor FROM wards").words
    applied = browser.submit("/policy", statement="ALTER TABLE nothing SET PRIVACY PUBLIC", apply="1")
    assert "<mark>nothing</mark>" in applied.text


def test_a_budget_begins_anew_for_a_reason(own: Site):
    own.browser("ann").ask(BY_WARD)
    browser = own.browser("root")
    browser.open("/budgets")
    done = browser.submit("/reset", budget="research", user="ann", reason="it's a mistake")
    assert "what was spent stays spent of the ceiling" in done.words
    assert "it's a mistake" in browser.open("/spending?kind=reset").words
    refused = browser.submit("/reset", budget='x"; DROP', user="", reason="")
    assert refused.status == 403


def test_the_audit_log_is_searched(own: Site):
    own.browser("ann").ask("SELECT ward, age FROM visits")
    browser = own.browser("root")
    found = browser.open("/audit?outcome=refused&words=ROWS+are")
    assert "SELECT ward, age FROM visits" in found.words
    assert "No entry" in browser.open("/audit?words=nobody-wrote-this").words
    assert "SELECT ward, age" not in browser.open("/audit?user=bob").words


def test_the_ledger_is_searched_and_both_are_exported_whole(own: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.web.administrator.CHUNK", 2)
    ann = own.browser("ann")
    for n in range(5):
        ann.ask(f"SELECT sum(cost) FROM visits WHERE age < {30 + n}", epsilon="0.1")
    ann.ask(BY_WARD)
    root = own.browser("root")
    assert "No entry" in root.open("/spending?words=nobody-asked-this").words
    searched = root.open("/spending?words=WARD").words.partition("The ledger")[2]
    assert ("by ward" in searched, "sum(cost)" in searched) == (True, False)
    ledger = root.open("/spending?csv=1").text.splitlines()
    assert ledger[0].startswith("sequence,at,who,kind,what")
    assert [line.partition(",")[0] for line in ledger[1:]] == [str(n) for n in range(6, 0, -1)]
    audit = root.open("/audit?csv=1&user=ann").text.splitlines()
    assert len(audit) == 7 + sum("SHOW dp" in line for line in audit)
    assert all(",ann," in line for line in audit[1:])
    older = root.open("/audit?before=3").words
    assert "age < 30" in older
    assert "age < 34" not in older


def test_what_is_not_declared_is_listed_with_suggestions(own: Site):
    root = own.browser("root")
    root.open("/policy")
    listed = root.open("/policy").words
    assert "Hidden, since nothing is declared about them secrets 2 columns" in listed
    shown = root.open("/policy?table=secrets").words
    assert "not declared a, b" in shown
    assert "ALTER TABLE secrets SET PRIVACY KEY" in shown
    assert "it is hidden" in shown
    assert "secrets" not in own.browser("ann").open("/tables").words


def test_what_is_being_prepared_is_shown_with_its_progress(own: Site):
    assert own.proxy.engine is not None
    root = own.browser("root")
    quiet = root.open("/health")
    assert "main served" in quiet.words
    assert "refresh" not in quiet.text
    with own.proxy.engine._jobs.job("view", "cube") as job, own.proxy.engine._jobs.job("table", "<b>"):
        job.move(0.25)
        busy = root.open("/health")
    assert "building view cube 25 %" in busy.words
    assert "preparing table <b>" in busy.words
    assert 'http-equiv="refresh"' in busy.text


def test_cubes_stand_among_the_views(own: Site):
    root = own.browser("root")
    root.open("/policy")
    made = "CREATE PRIVACY CUBE cells ON visits (ward) MEASURES (count(*)) WITH (epsilon = 0.2)"
    assert "Done" in root.submit("/policy", statement=made, apply="1").words
    shown = root.open("/views?verify=cells")
    assert shown.status == 200
    assert "cells differential privacy, epsilon 0.2" in shown.words
    assert "sees in cells_errors how far off its answers are" in shown.words
    root.open("/policy")
    root.submit("/policy", statement="GRANT SELECT ON cells TO analyst", apply="1")
    assert "count, one standard deviation" in own.browser("boss").open("/views?verify=cells").words
    assert "privacy cube cells by dp_cube 1 0.2" in root.open("/report").words


def test_figures_of_views_are_pictures(own: Site):
    root = own.browser("root")
    root.open("/policy")
    options = "method = dp_kdtree, epsilon = 0.2, charge = research"
    made = f"CREATE PROTECTED VIEW small WITH ({options}) AS SELECT age, cost FROM visits"
    assert "Done" in root.submit("/policy", statement=made, apply="1").words
    hidden = root.open("/views?verify=small")
    assert 'figures of "small" need the original rows' in hidden.words
    assert 'class="bar"' not in hidden.text
    root.open("/policy")
    root.submit("/policy", statement="GRANT EXACT SELECT ON visits TO analyst", apply="1")
    shown = own.browser("boss").open("/views?verify=small&verify=small&verify=")
    assert "How much the data has changed" in shown.words
    assert 'aria-label="change of averages of small: ' in shown.text
