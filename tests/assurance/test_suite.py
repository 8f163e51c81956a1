"""All attacks."""

from pathlib import Path
from string import Formatter

from dpproxy.assurance.suite import ATTACKS, trials
from dpproxy.assurance.target import targets
from tests.assurance.made_up import policy, schema

PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"
FOUND = tuple(trials(targets(policy(), schema(), {"patients": "21000", "stays": "21000"})))
PLACES = {
    "t", "T", "bare", "key", "key2", "her", "n", "lo", "hi", "k", "s", "f", "day", "secret", "hidden", "hiddenbare",
    "lookalike", "pub", "pubkey", "other", "okey", "link", "foreign", "fk",
}  # fmt: skip


def test_each_attack_is_tried_and_each_text_once():
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert {trial.attack for trial in FOUND} == set(ATTACKS)
    assert len({trial.sql for trial in FOUND}) == len(FOUND)
    assert len(FOUND) > 500


def test_templates_name_what_exists():
    for attack in ATTACKS:
        for template in attack.statements:
            named = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
            assert named <= PLACES, template


def test_almost_every_template_is_tried_over_some_table():
    tried = {trial.sql for trial in FOUND}
    left_out = [
        template
        for attack in ATTACKS
        for template in attack.statements
        if not any(
            template.format_map(trial.target.names) in tried
            for trial in FOUND
            if _fits(template, trial.target.names)
        )
    ]
    assert left_out == []


def _fits(template: str, names: object) -> bool:
    return all(name in names for _, name, _, _ in Formatter().parse(template) if name is not None)  # type: ignore[operator]


def test_every_attack_is_documented():
    text = PAGE.read_text(encoding="utf-8")
    for attack in ATTACKS:
        assert f"| {attack.name} | {attack.tries} | {attack.outcome.value} |" in text, attack.name
