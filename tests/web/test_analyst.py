"""The pages of analysts, over a real proxy."""

import csv
import io
import re
from pathlib import Path

import psycopg

from dpproxy.web.analyst import Described, Shown, balance, described
from tests.web.pages import BY_WARD, Browser, Site, page, site

ROW = {
    "budget": "b", "limit_epsilon": "8", "remaining": "7", "user_limit": "2", "user_remaining": "1.5",
    "session_limit": None, "session_remaining": None, "ceiling_remaining": "1", "tables": "t",
    "more_like_last": "3", "refills_at": None,
}  # fmt: skip


def test_a_price_before_anything_is_spent(tmp_path: Path):
    with site(tmp_path) as found:
        browser = found.browser("ann")
        priced = browser.ask(BY_WARD, price="1")
        assert "ε 0.1 from budget research people ± " in priced.words
        assert "protects one row of visits" in priced.words
        assert browser.open("/history").words.count("Nothing was asked yet") == 1
        drafted = browser.submit("/draft", statement=BY_WARD)
        assert "ε 0.1" in drafted.words
        assert "<html" not in drafted.text
        assert "ε 1 of 1" in browser.open("/").words
        asked = browser.ask(BY_WARD)
        assert "cost 0.1 epsilon, 0.9 left in budget research" in asked.words
        assert "Free it follows from what was released before" in browser.ask(BY_WARD, price="1").words
        root = found.browser("root").ask("SHOW PRIVACY AUDIT")
        assert root.words.count("EXPLAIN") == 0  # drafts are not recorded


def test_an_answer_is_a_table_and_a_chart_with_errors(shared: Site):
    browser = shared.browser("ann")
    answer = browser.ask(BY_WARD)
    assert answer.text.count("<tr><td>") == 3
    assert answer.text.count('class="bar') == 3
    assert re.search(r"people with the interval that each value lies in\. a: \d{3}, within", answer.words)
    assert re.search(r"a \d{3} ± \d+", answer.words)
    reloaded = browser.open(browser.at)
    assert reloaded.text.count("<td>") == answer.text.count("<td>")


def test_a_single_answer_is_a_figure(shared: Site):
    assert 'class="figure"' in shared.browser("ann").ask("SELECT count(*) AS n FROM visits").text


def test_an_answer_as_a_file(shared: Site):
    browser = shared.browser("ann")
    browser.ask(BY_WARD)
    answer = browser.open(f"{browser.at}.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"].startswith("attachment")
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows[0] == ["ward", "people", "people_ci_low", "people_ci_high"]
    assert [row[0] for row in rows[1:]] == ["a", "b", "c"]


def test_the_same_question_again_is_free(shared: Site):
    browser = shared.browser("ann")
    first = browser.ask(BY_WARD)
    again = browser.ask("SELECT count(*) AS people, ward FROM visits GROUP BY ward")
    assert "cost 0, " in again.words
    numbers = r"\d{3} ± \d+"
    assert sorted(set(re.findall(numbers, first.words))) == sorted(set(re.findall(numbers, again.words)))
    history = browser.open("/history")
    assert "free" in history.words
    assert "What you have paid for" in history.words


def test_a_refusal_shows_its_place_and_a_button_for_its_statement(shared: Site):
    browser = shared.browser("ann")
    refused = browser.ask("SELECT ward, age FROM visits")
    assert "<mark>ward</mark>, age FROM visits" in refused.text
    assert "42501" in refused.words
    hinted = re.search(r'name="hinted" value="([^"]+)"', refused.text)
    assert hinted is not None
    taken = browser.submit("/take", hinted=hinted[1], statement="SELECT ward, age FROM visits")
    assert ">\nSELECT ward, count(*) FROM visits GROUP BY ward</textarea>" in taken.text
    assert "refused 42501" in browser.open("/history").words
    assert browser.send("GET", "/answers/1.csv").status == 404


def test_a_setting_of_a_hint_is_made_and_the_question_stays(shared: Site):
    browser = shared.browser("ann")
    taken = browser.submit("/take", hinted="SET dp.epsilon = 0.2", statement="SELECT sum(cost) FROM visits")
    assert "ε 0.2 from budget research" in taken.words
    assert 'name="epsilon" value="0.2"' in taken.text
    wrong = browser.submit("/take", hinted="SET dp.epsilon = -1", statement="SELECT 1")
    assert 'role="alert"' in wrong.text


def test_a_price_that_is_no_number_is_refused(shared: Site):
    answer = shared.browser("ann").ask(BY_WARD, epsilon="<b>")
    assert 'role="alert"' in answer.text
    assert "<b>" not in answer.text


def test_a_drained_budget_refuses(tmp_path: Path):
    with site(tmp_path) as found:
        browser = found.browser("ann")
        assert "ε 0 of 1" in browser.ask("SELECT count(*) FROM visits", epsilon="1").words
        refused = browser.ask("SELECT sum(cost) FROM visits")
        assert "PD001" in refused.words
        assert "Pays for" in refused.words


def test_tables_with_their_declared_values(shared: Site):
    answer = shared.browser("ann").open("/tables")
    assert "age integer 0 to 90" in answer.words
    assert "ward text a, b, c" in answer.words
    assert "visits" not in shared.browser("eve").open("/tables").words


def test_tables_stand_behind_their_schema_where_a_statement_names_it(shared: Site):
    browser = shared.browser("ann")
    pages = browser.open("/tables"), browser.open("/")
    assert all(
        "hr.posts" in page.words and "SELECT%20count%28%2A%29%20FROM%20hr.posts" in page.text
        for page in pages
    )
    assert "1" in browser.ask("SELECT count(*) FROM hr.posts").words
    assert "hr.posts" in shared.browser("root").open("/policy?table=hr.posts").words


def test_names_and_constants_are_never_markup(shared: Site):
    browser = shared.browser("ann")
    script = "<script>alert(1)</script>"
    answers = [
        browser.open("/"),
        browser.open("/tables"),
        browser.ask(f'SELECT \'{script}\' AS "{script}", \'x\' AS """><img src=x>"'),
        browser.ask(f'SELECT * FROM "{script}"'),
        browser.ask(f"SELECT {script} FROM"),
        browser.open("/history"),
        browser.submit("/take", hinted=f"SELECT '{script}'", statement='"><script>'),
        browser.send("GET", "/?statement=%3C/textarea%3E%3Cscript%3Ealert(1)"),
        browser.submit("/draft", statement=f"SELECT {script}"),
        browser.send("POST", "/login", 'user="><script>&password=x'),
        browser.send("GET", "/answers/%3Cscript%3E"),
    ]
    for answer in answers:
        assert "<script>" not in answer.text
        assert "<img src=x" not in answer.text
        assert "<b>x" not in answer.text
        assert "<i>y" not in answer.text
    assert (
        "<b>x</b>" in answers[3].words.replace("&lt;", "<")
        or "<b>x</b>" in browser.open("/answers/2.csv").text
    )


def test_copy_is_refused_and_the_session_goes_on(shared: Site):
    browser = shared.browser("ann")
    assert "COPY is not for this page" in browser.ask("COPY (SELECT 1) TO STDOUT").words
    assert "cost" in browser.ask(BY_WARD).words


def test_a_statement_without_rows_is_done(shared: Site):
    assert "Done." in shared.browser("ann").ask("SET statement_timeout = '10s'").words


def test_declarations_are_read_for_people():
    assert described("a", "integer", "DOMAIN BETWEEN 17 AND 90 OUTSIDE CLAMP").domain == "17 to 90"
    assert described("k", "text", "DOMAIN IN ('a', 'it''s')") == Described(
        "k", "text", "2 values", ("a", "it's")
    )
    assert described("k", "text", "DOMAIN IN 41 values").domain == "41 values"
    assert described("k", "text", None).domain == ""


def test_the_tightest_limit_is_shown():
    found = balance(ROW)
    assert (found.left, found.limit, found.percent) == (1.0, 2.0, 50.0)
    assert [found.shares, balance({**ROW, "shares_releases": "t"}).shares] == [False, True]


def test_several_questions_are_priced_together(shared: Site):
    priced = shared.browser("ann").ask(
        f"({BY_WARD} HAVING count(*) > 1; SELECT avg(cost) FROM visits)", price="1"
    )
    assert "2 questions together" in priced.words


def test_the_history_is_there_at_the_next_login_and_of_nobody_else(tmp_path: Path):
    with site(tmp_path) as found:
        first = found.browser("ann")
        first.ask("SELECT count(*) -- <b>all</b>\nFROM visits")
        first.submit("/logout")
        with psycopg.connect(found.proxy.dsn("ann"), autocommit=True) as other:
            other.execute("SELECT avg(cost) FROM visits")
        with page(found.proxy) as port:  # another process of the page
            again = Browser(port)
            again.log_in("ann")
            history = again.open("/history")
            bob = Browser(port)
            bob.log_in("bob")
            assert "FROM visits" not in bob.open("/history").text
        assert "SELECT avg(cost) FROM visits" in history.text
        assert "SELECT count(*) -- &lt;b&gt;all&lt;/b&gt;\nFROM visits" in history.text


def test_a_first_question_quotes_words_that_are_no_names():
    group = Described("Group", "text", "2 values", ("a", "b"))
    assert Shown("order", None, (group,)).question == 'SELECT "Group", count(*) FROM "order" GROUP BY "Group"'
