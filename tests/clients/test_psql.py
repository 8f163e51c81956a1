"""psql as people type it."""

import re
import subprocess

import pytest

from tests.proxies import Proxy

pytestmark = pytest.mark.external


def psql(proxy: Proxy, *commands: str, user: str = "ann", script: str | None = None) -> tuple[str, str]:
    """Standard output and error of commands, or of a script on standard input."""
    done = subprocess.run(
        ["psql", "-X", *(word for command in commands for word in ("-c", command))],
        env=proxy.environment(user), input=script, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    return done.stdout, done.stderr


def test_an_answer_with_its_price(proxy: Proxy):
    shown, told = psql(proxy, "SELECT town, count(*), avg(age) FROM people GROUP BY town")
    assert re.search(r"^ town  \| count \| +avg", shown, re.MULTILINE)
    assert re.search(r"^ north +\| +\d+ \| +[\d.]+$", shown, re.MULTILINE)
    assert "(3 rows)" in shown
    assert told.splitlines()[0].startswith("NOTICE:  cost 0.1 epsilon, ")
    assert "DETAIL:  count(*), avg(age) by town on people; 3 keys answered; unit: one row of people." in told


@pytest.mark.parametrize(
    ("command", "patterns"),
    [
        (r"\dt", [r"public \| people +\| table \| admin", r"\(5 rows\)"]),
        (r"\d", [r"public \| visits +\| table"]),
        (
            r"\d people",
            [r'Table "public.people"', r"age +\| integer", r"born +\| date", r"id +\| integer .* not null"],
        ),
        (
            r"\d+ people",
            [
                r'"people_age_check" CHECK \(age >= 0 AND age <= 110\)',
                "DOMAIN BETWEEN 0 AND 110 OUTSIDE CLAMP",
                r"\(town = ANY \(ARRAY\['north'::text, 'south'::text, 'west'::text\]\)\)",
            ],
        ),
        (r"\dt+", [r"people .* Answered with noise; privacy unit: one row\."]),
        (r"\d+ visits", [r"cost +\| numeric\(12,2\)", r"ward +\| text"]),
        (r"\l", [r"main +\| admin \| UTF8"]),
        (r"\du", ["ann", "analyst"]),
        (r"\dn", [r"public \| admin", r"dp +\| admin"]),
        (r"\dv", [r"public \| busy +\| view \| admin", r"\(1 row\)"]),
        (r"\d busy", [r'View "public.busy"', r"y +\| integer", r"n +\| bigint", r"mean +\| numeric"]),
        (r"\d+ busy", [r"mean +\| numeric"]),
        (r"\di", [""]),
        (r"\df", [r"\(0 rows\)"]),
        (r"\df avg", [r"pg_catalog \| avg +\| numeric +\| integer +\| agg"]),
        (r"\daS", [r"pg_catalog \| regr_slope +\| double precision +\| double precision, double precision"]),
        (r"\dfw", [""]),
        (r"\df+ dp.*", [r"dp +\| ci_low +\| double precision +\| \"any\" +\| func"]),
        (r"\dT", [r"\(0 rows\)"]),
        (r"\dx", [r"\(0 rows\)"]),
        (r"\dp", [r"public \| people"]),
        (r"\conninfo", [r'connected to database "main" as user "ann"']),
        (r"\encoding", ["UTF8"]),
    ],
)
def test_backslash_commands(proxy: Proxy, command: str, patterns: list[str]):
    shown, told = psql(proxy, command)
    assert "ERROR" not in told
    for pattern in patterns:
        assert re.search(pattern, shown), shown
    assert not re.search("salaries|undeclared|secret|huge|unasked", shown)


def test_the_text_of_a_function_is_refused_in_a_sentence(proxy: Proxy):
    for function in ("lower(text)", "now"):
        assert psql(proxy, rf"\sf {function}") == ("", "ERROR:  the definition of a function is not shown\n")


def test_a_view_is_asked_as_a_table_is(proxy: Proxy):
    shown, told = psql(proxy, "SELECT y, n FROM busy WHERE n > 1000 ORDER BY y LIMIT 2")
    assert re.search(r"^ 0 \| \d+$", shown, re.MULTILINE)
    assert "cost 0.1 epsilon" in told
    assert psql(proxy, r"\d unasked") == ("", 'Did not find any relation named "unasked".\n')


def test_hidden_tables_are_not_described(proxy: Proxy):
    for name in ("salaries", "undeclared", "nothing"):
        assert psql(proxy, rf"\d {name}") == ("", f'Did not find any relation named "{name}".\n')


def test_columns_are_described_in_order_without_running(proxy: Proxy):
    asked = "SELECT town, count(*), sum(income), avg(age), avg(income) x FROM people GROUP BY town"
    shown, told = psql(proxy, script=f"{asked} \\gdesc\nSHOW dp.last_cost;")
    assert told == ""
    assert re.findall(r"^ (\w+) +\| (.*?) *$", shown, re.MULTILINE)[1:] == [
        ("town", "text"), ("count", "bigint"), ("sum", "double precision"), ("avg", "numeric"),
        ("x", "double precision"),
    ]  # fmt: skip
    assert "0.1" not in shown


def test_the_price_before(proxy: Proxy):
    shown, _ = psql(proxy, "EXPLAIN (PRIVACY) SELECT town, count(*) FROM people WHERE age > 61 GROUP BY town")
    for line in (
        "Price: epsilon 0.1",
        "Privacy unit: one row of people",
        "Mechanism: staircase",
        "Keys: 3 declared",
    ):
        assert line in shown
    shown, _ = psql(proxy, "EXPLAIN (PRIVACY, FORMAT JSON) SELECT count(*) FROM people")
    assert '"epsilon"' in shown


def test_a_hint_and_intervals(proxy: Proxy):
    _, told = psql(proxy, "/*+ dp(epsilon=0.05) */ SELECT count(*) FROM people WHERE age > 63")
    assert told.startswith("NOTICE:  cost 0.05 epsilon, ")
    assert "DETAIL:  " in told
    asked = "SET dp.intervals = columns;\nSELECT count(*) AS n FROM people WHERE age > 64 \\gdesc\n"
    shown, _ = psql(proxy, script=asked)
    assert all(f" {name} " in shown for name in ("n", "n_ci_low", "n_ci_high"))


def test_the_caret_stands_under_the_fault(proxy: Proxy):
    _, told = psql(proxy, "SELECT town,\n  count(nothing)\nFROM people GROUP BY town")
    first, line, caret, *_ = told.splitlines()
    assert first == 'ERROR:  column "nothing" does not exist'
    assert line == "LINE 2:   count(nothing)"
    assert line[caret.index("^") :] == "nothing)"
    _, told = psql(proxy, "SELECT 1; SELEC 2")
    assert "ERROR:  " in told


def test_settings_and_blocks(proxy: Proxy):
    shown, told = psql(
        proxy, "SET dp.epsilon = 0.2", "SHOW dp.epsilon", "BEGIN", "SELECT count(*) FROM people", "ROLLBACK",
        "SHOW dp.last_cost",
    )  # fmt: skip
    assert "0.2" in shown
    assert "cost 0.2 epsilon" in told
    assert "ROLLBACK" in shown
    shown, told = psql(proxy, "BEGIN; SELECT nothing FROM people; SELECT count(*) FROM people; COMMIT")
    assert told.count("ERROR") == 1
    _, told = psql(proxy, "SELECT count(*) FROM people; SELECT count(*) FROM visits")
    assert "more than one statement over protected tables" in told
    assert "ERROR:  " in told


def test_an_administrator_declares_and_grants(proxy: Proxy):
    shown, told = psql(
        proxy, "ALTER TABLE salaries SET PRIVACY PUBLIC", "SHOW PRIVACY BUDGETS", "SHOW PRIVACY POLICY FOR salaries",
        "ALTER TABLE salaries SET PRIVACY HIDDEN", user="root",
    )  # fmt: skip
    notices = [line for line in told.splitlines() if not line.startswith(("DETAIL: ", "HINT: "))]
    assert notices == [
        "NOTICE:  table salaries [weaker]: its rows may be read as they are",
        "NOTICE:  table salaries [stronger]: it does not exist for anybody any more",
    ]
    assert told.count("still says otherwise") == 1  # the file has it hidden, as it is again in the end
    assert "ALTER TABLE" in shown
    assert re.search(r"research +\|.*\| +100000 ", shown)
    _, told = psql(proxy, "ALTER TABLE people SET PRIVACY PUBLIC")
    assert told.startswith("ERROR:  privacy statements are for administrators")


def test_parameters_and_output_forms(proxy: Proxy):
    shown, told = psql(
        proxy,
        script="\\pset format csv\n\\pset tuples_only on\nSELECT town, count(*) FROM people GROUP BY 1;",
    )
    assert re.search(r"^north,\d+$", shown, re.MULTILINE)
    assert "ERROR" not in told
    shown, told = psql(proxy, "COPY (SELECT count(*) FROM people) TO STDOUT")
    assert re.fullmatch(r"\d+\n", shown)
    assert told.startswith("NOTICE:  cost ")


def test_foreign_keys_are_shown_at_both_ends(world: Proxy):
    shown, told = psql(world, r"\d visits")
    assert (told, "Foreign-key constraints:" in shown) == ("", True)
    assert '"visits_person_fkey" FOREIGN KEY (person) REFERENCES people(id)' in shown
    shown, told = psql(world, r"\d+ people")
    assert (told, "Referenced by:" in shown) == ("", True)
    assert (
        'TABLE "visits" CONSTRAINT "visits_person_fkey" FOREIGN KEY (person) REFERENCES people(id)' in shown
    )
