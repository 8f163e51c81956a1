"""The report: what it says, and to whom."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dpproxy.web.report import MOST_KINDS, as_html, kind_of, percent, report, sureness
from tests.web.pages import BY_WARD, Site, site

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FOUND: dict[str, list[dict[str, object]]] = {
    "policy": [
        {"table": "patients", "column": None, "declaration": "KEY (patient_id)"},
        {"table": "patients", "column": "age", "declaration": "DOMAIN BETWEEN 0 AND 90"},
        {"table": "visits", "column": None, "declaration": "KEY (patient_id) REFERENCES patients (patient_id)"},
        {"table": "lines", "column": None, "declaration": "KEY (visit_id) REFERENCES visits (visit_id) MAX ROWS 2"},
        {"table": "survey", "column": None, "declaration": "KEY ROW"},
        {"table": "wards", "column": None, "declaration": "PUBLIC"},
    ],
    "budgets": [
        {"name": "patients", "kind": "ceiling", "limit_epsilon": "2", "spent": "0.5", "delta": "0.00001"},
        {"name": "b", "kind": "budget", "limit_epsilon": "1", "spent": "0.5", "delta": "0"},
    ],
    "grants": [
        {"table": "visits", "role": "analyst", "privilege": "SELECT", "budget": "b"},
        {"table": "patients", "role": "dpo", "privilege": "EXACT SELECT", "budget": None},
    ],
    "views": [{"name": "v", "guarantee": "epsilon 1", "method": "auto", "epsilon": "1", "state": "built"}],
    "released": [
        {"ceiling": "patients", "what": "count(*) on visits", "times": "3", "epsilon": "0.5",
         "first": "2026-01-02 03:04:05", "last": "2026-02-03 04:05:06"},
    ],
}  # fmt: skip


def test_tables_along_references_are_about_the_same_people():
    patients, survey = report(FOUND, AT).people
    assert patients.tables == ("patients", "visits", "lines")
    assert (patients.unit, patients.limit, patients.spent) == ("all rows of one patient_id", 2, 0.5)
    assert (patients.roles, patients.exact) == (("analyst",), ("dpo",))
    assert (patients.answers, patients.first, patients.last) == (3, "2026-01-02", "2026-02-03")
    assert (survey.unit, survey.limit, survey.sure_at_most) == ("each single row", None, None)


def test_budgets_that_share_their_releases_are_named():
    budgets = [
        *FOUND["budgets"],
        {"name": "c", "kind": "budget", "limit_epsilon": "1", "shares_releases": "t"},
    ]
    assert report({**FOUND, "budgets": budgets}, AT).people[0].shared == ()  # nobody may ask from it
    budgets[1] = {**budgets[1], "shares_releases": "t"}
    found = report({**FOUND, "budgets": budgets}, AT)
    assert [one.shared for one in found.people] == [("b (ε 1)",), ()]
    assert "who may spend from b (ε 1) reads what all who do have paid for" in as_html(found, None)


def test_a_circle_of_references_ends():
    policy = [
        {"table": "a", "column": None, "declaration": "KEY (x) REFERENCES b (x)"},
        {"table": "b", "column": None, "declaration": "KEY (x) REFERENCES a (x)"},
    ]
    assert len(report({**FOUND, "policy": policy}, AT).people) == 2


def test_how_sure_anybody_can_be():
    assert sureness(0) == 50
    assert [percent(sureness(e)) for e in (0.1, 0.5, 1, 2, 5, 10)] == [
        "52.5 %", "62.3 %", "73.2 %", "88.1 %", "99.4 %", "more than 99.9 %",
    ]  # fmt: skip


def test_a_file_needs_no_other():
    text = as_html(report(FOUND, AT), None)
    assert "<style>" in text
    for loaded in ("src=", "<link", "<script", "url(", "/static"):
        assert loaded not in text
    assert "People in patients" in text
    assert "wards" in text


def test_names_are_never_markup():
    policy = [{"table": "<script>x", "column": None, "declaration": "KEY ROW"}]
    assert "<script>" not in as_html(report({**FOUND, "policy": policy}, AT), None)


def test_long_lists_are_counted():
    view = "protected view v{} by auto"
    many = [{**FOUND["released"][0], "what": view.format(n), "times": 1} for n in range(MOST_KINDS + 3)]
    [people, _] = report({**FOUND, "released": many}, AT).people
    assert (len(people.kinds), people.more, people.answers) == (MOST_KINDS, 3, MOST_KINDS + 3)


def test_it_is_for_administrators_and_names_nobody(shared: Site):
    ann = shared.browser("ann")
    ann.ask(f"{BY_WARD} HAVING count(*) > 17")
    assert ann.send("GET", "/report").status == 403
    root = shared.browser("root")
    shown = root.open("/report")
    assert "protected each single row in visits" in shown.words
    assert "count by ward on visits 1 0.1" in shown.words
    assert "ann" not in shown.words.split()
    filed = root.send("GET", "/report?file=1")
    assert filed.headers["content-disposition"].startswith("attachment")
    assert "<style>" in filed.text
    assert root.token not in filed.text


DECLARED = {"visits", "ward", "age", "cost"}


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("count(*) on visits", "count on visits"),
        ("sum(cost) filter(where age = 77), count(*) by ward on visits", "sum, count by ward on visits"),
        ("percentile_cont(0.5) within group (order by age) by ward on visits", "percentile_cont by ward on visits"),
        ("avg((cost + (3*age)) * 2), max(x) by secret, date_trunc('month', age) on visits, public rows",
         "avg, max by age on visits"),
        ("keys by age on visits; count(distinct lower('...')) on visits", "keys by age on visits; count on visits"),
        ('sum("x) smith(") by "smith" on visits', "sum on visits"),
        ("sum(case when age = 33 then 1 end) on public rows", "sum on public rows"),
        ("protected view v by mdav", "protected view v by mdav"),
        ("privacy cube c by dp_cube", "privacy cube c by dp_cube"),
    ],
)  # fmt: skip
def test_a_kind_has_nothing_that_an_analyst_has_written(what: str, kind: str):
    assert kind_of(what, DECLARED) == kind


def test_kinds_are_added_up():
    what = "sum(case when cost = {} then 1 end) on visits"
    known = [{"table": "visits", "column": "cost", "declaration": "DOMAIN BETWEEN 0 AND 90"}]
    released = [{**FOUND["released"][0], "what": what.format(n), "times": "2"} for n in (17, 18)]
    [people, _] = report({**FOUND, "policy": [*FOUND["policy"], *known], "released": released}, AT).people
    assert [(one.what, one.times, one.epsilon) for one in people.kinds] == [("sum on visits", 4, 1.0)]


def test_constants_of_questions_do_not_leave_with_the_report(shared: Site):
    shared.browser("bob").ask(
        "SELECT sum(CASE WHEN age = 77 THEN 1 ELSE 0 END) AS john FROM visits WHERE cost < 87"
    )
    root = shared.browser("root")
    assert "77" in root.open("/spending").words
    text = root.open("/report?file=1").words
    assert "sum on visits" in text
    assert not {"77", "87", "john", "bob"} & set(re.findall(r"\w+", text))


def test_a_published_report_is_for_everybody(tmp_path: Path):
    file = tmp_path / "public.html"
    with site(tmp_path / "home", report=str(file)) as found:
        nobody = found.browser()
        assert "/transparency" in nobody.open("/login").text
        assert nobody.send("GET", "/transparency").status == 404
        file.write_text("<h1>What is released</h1><script>alert(1)</script>")
        shown = nobody.send("GET", "/transparency")
        assert (shown.status, shown.words) == (200, "What is released alert(1)")
        assert "script-src" not in shown.headers["content-security-policy"]
        assert shown.headers["content-security-policy"].startswith("default-src 'none'")
        assert not nobody.cookies
        file.unlink()
        assert nobody.send("GET", "/transparency").status == 404


def test_nothing_is_published_by_itself(shared: Site):
    assert shared.browser().send("GET", "/transparency").status == 404
    assert "/transparency" not in shared.browser().open("/login").text


def test_views_without_a_finite_loss_are_outside_the_bars():
    outside = "The bars above do not hold"
    assert outside not in as_html(report(FOUND, AT), None)
    views = [{**FOUND["views"][0], "epsilon": None, "guarantee": "k = 5; its loss has no finite bound"}]
    assert outside in as_html(report({**FOUND, "views": views}, AT), None)
