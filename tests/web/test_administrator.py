"""The pages of administrators, over a real proxy: what analysts get there, and what administrators do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.web.administrator import entries_sql, literal
from tests.web.pages import BY_WARD, Site, site

PAGES = ("/budgets", "/spending", "/policy", "/policy?table=visits", "/views", "/audit")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/spending"])
def test_an_analyst_is_refused_by_the_proxy(shared: Site, path: str):
    answer = shared.browser("ann").send("GET", path)
    assert answer.status == 403
    assert "privacy statements are for administrators" in answer.words


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


def test_a_filter_is_a_constant_and_no_statement():
    assert "''" in entries_sql({"who": "' OR 1=1 --"}, "")
    assert "sequence <" not in entries_sql({}, "1; SELECT")
    assert literal("o'neill") == "'o''neill'"


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
