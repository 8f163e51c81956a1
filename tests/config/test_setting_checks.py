"""Each check accepts what it says and refuses all else; test_settings.py has more, through the settings."""

import pytest

from dpproxy.config import setting_checks as checks
from dpproxy.config.setting_checks import Check


@pytest.mark.parametrize(
    ("check", "text", "kept"),
    [
        (checks.epsilon, " 0.5 ", "0.5"),
        (checks.switch, "TRUE", "on"),
        (checks.only("off"), "no", "off"),
        (checks.integer(-1, 3), "+2", "2"),
        (checks.date_style, "iso, european", "ISO, DMY"),
        (checks.encoding, "unicode", "UTF8"),
        (checks.text, "naïve", "na?ve"),
        (checks.delta, "0", "0"),
        (checks.target, " 50 ", "50"),
        (checks.target, "1e-3", "1e-3"),
        (checks.target, "0", ""),
        (checks.target, "0.0", ""),
        (checks.target, "OFF", ""),
        (checks.available("escape", "hex"), "ESCAPE", "escape"),
        (checks.duration, "30000", "30s"),
        (checks.duration, "30001", "30001ms"),
        (checks.duration, " 90 s ", "90s"),
        (checks.duration, "120s", "2min"),
        (checks.duration, "24h", "1d"),
        (checks.duration, "1500us", "2ms"),
        (checks.duration, "0 min", "0"),
    ],
)
def test_what_is_kept(check: Check, text: str, kept: str):
    assert check(text) == kept


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (checks.epsilon, "0"),
        (checks.target, "-1"),
        (checks.target, "much"),
        (checks.probability, "1"),
        (checks.delta, "1"),
        (checks.switch, "maybe"),
        (checks.duration, "-1"),
        (checks.duration, "25d"),
        (checks.duration, "5 minutes"),
        (checks.only("on"), "off"),
        (checks.integer(0, 3), "4"),
        (checks.date_style, "German"),
        (checks.encoding, "latin1"),
        (checks.budget, " "),
        (checks.prior, "normal(1"),
        (checks.one_of("a"), "b"),
        (checks.ISOLATION, "none"),
    ],
)
def test_what_is_refused(check: Check, text: str):
    with pytest.raises(ValueError, match=r"\S"):
        check(text)
