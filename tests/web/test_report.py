"""The report: what it says, and to whom."""

from datetime import UTC, datetime

from dpproxy.web.report import MOST_KINDS, as_html, percent, report, sureness
from tests.web.pages import BY_WARD, Site

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
    many = [{**FOUND["released"][0], "what": str(n), "times": 1} for n in range(MOST_KINDS + 3)]
    [people, _] = report({**FOUND, "released": many}, AT).people
    assert (len(people.kinds), people.more, people.answers) == (MOST_KINDS, 3, MOST_KINDS + 3)


def test_it_is_for_administrators_and_names_nobody(shared: Site):
    ann = shared.browser("ann")
    ann.ask(f"{BY_WARD} HAVING count(*) > 17")
    assert ann.send("GET", "/report").status == 403
    root = shared.browser("root")
    shown = root.open("/report")
    assert "protected each single row, together in visits" in shown.words
    assert "count(*) by ward on visits 1 0.1" in shown.words
    assert "ann" not in shown.words.split()
    filed = root.send("GET", "/report?file=1")
    assert filed.headers["content-disposition"].startswith("attachment")
    assert "<style>" in filed.text
    assert root.token not in filed.text


def test_views_without_a_finite_loss_are_outside_the_bars():
    outside = "The bars above do not hold"
    assert outside not in as_html(report(FOUND, AT), None)
    views = [{**FOUND["views"][0], "epsilon": None, "guarantee": "k = 5; its loss has no finite bound"}]
    assert outside in as_html(report({**FOUND, "views": views}, AT), None)
