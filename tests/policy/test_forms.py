import re
from pathlib import Path

import pytest

from dpproxy.policy.forms import FORMS, form_hint
from dpproxy.policy.parser import parse
from dpproxy.values.errors import SyntaxRefused

STATEMENTS = Path(__file__).parents[2] / "docs" / "statements.md"


def test_the_documentation_has_the_forms_and_no_others():
    text = STATEMENTS.read_text(encoding="utf-8")
    blocks = re.findall(r"<!-- grammar -->\n```text\n(.*?)```", text, re.DOTALL)
    lines = "\n".join(blocks).replace("\n  ", " ").splitlines()
    assert [line for line in lines if line and not line.startswith("EXPLAIN")] == FORMS


BETWEEN = (
    "ALTER TABLE t ALTER [ COLUMN ] c SET PRIVACY DOMAIN BETWEEN low AND high "
    "[ OUTSIDE CLAMP | NULL ] [ NOT NULL ]"
)


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        (
            "CREATE PROTECTED VIEW v AS SELECT 1",
            "Write CREATE PROTECTED VIEW name WITH ( option = value , ... ) AS query",
        ),
        (
            "ALTER TABLE t ALTER c SET PRIVACY DOMAIN BETWEEN 5",
            f"Write {BETWEEN}",
        ),
        (
            "ALTER TABLE t ALTER COLUMN c SET PRIVACY DOMAIN BETWEEN 5",
            f"Write {BETWEEN}",
        ),
        ("SHOW PRIVACY BUDGETS FOR t", "Write SHOW PRIVACY BUDGETS"),
        ("ALTER TABLE t SET PRIVACY MAX ROWS 5", "Write one of the words that the message names."),
        ("SHOW PRIVACY POLICYS", "Did you mean POLICY?"),
    ],
)
def test_who_sends_what_does_not_parse_is_shown_the_form_of_it(sql: str, hint: str):
    with pytest.raises(SyntaxRefused) as refused:
        parse(sql)
    assert refused.value.hint == hint


def test_a_text_that_does_not_end_gets_a_hint_as_well():
    assert form_hint("CREATE PRIVACY BUDGET 'b").startswith("Write")
