from fractions import Fraction

import pytest

from dpproxy.config import settings
from dpproxy.config.settings import DEFAULTS, REPORTED, SETTINGS, find, keep_one_way, normalise
from dpproxy.values.errors import FixedSetting, InvalidParameter, UndefinedObject


@pytest.mark.parametrize(
    "text", ["0.2", "1", " 0.001 ", "1e-2", ".5", "1000000", "0.3333333333333333333333333333"]
)
def test_epsilon_is_the_exact_value_of_its_text(text: str):
    kept = {**DEFAULTS, "dp.epsilon": normalise("dp.epsilon", text, DEFAULTS)}
    assert settings.epsilon(kept) == Fraction(text.strip())


@pytest.mark.parametrize(
    "text",
    [" ", "0", "0.0", "-1", "-0.1", "NaN", "inf", "Infinity", "1e308", "1e-308", "0.0009999", "1000001", "0x1",
     "1_0", "1/3", "0.1,", "٣", "9" * 400, "1e", "0,1", "\x00"],
)  # fmt: skip
def test_epsilon_refuses_all_else(text: str):
    with pytest.raises(InvalidParameter) as caught:
        normalise("dp.epsilon", text, DEFAULTS)
    assert "0.001" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("dp.confidence", "0.9", "0.9"),
        ("dp.mechanism", "Staircase", "staircase"),
        ("dp.delta", " 1e-8 ", "1e-8"),
        ("dp.delta", "0", "0"),
        ("dp.intervals", "columns", "columns"),
        ("dp.notices", "false", "off"),
        ("DP.CLAMP", "1", "on"),
        ("dp.budget", "research", "research"),
        ("DateStyle", "ISO", "ISO, MDY"),
        ("datestyle", "iso, dmy", "ISO, DMY"),
        ("client_encoding", "utf-8", "UTF8"),
        ("client_encoding", "UNICODE", "UTF8"),
        ("extra_float_digits", "3", "3"),
        ("statement_timeout", "5s", "5s"),
        ("TimeZone", "Europe/Madrid", "Europe/Madrid"),
        ("TimeZone", "+02:00", "+02:00"),
        ("application_name", "tab\tleau é", "tab?leau ?"),
        ("default_transaction_isolation", "SERIALIZABLE", "serializable"),
    ],
)
def test_a_value_is_kept_as_show_prints_it(name: str, text: str, kept: str):
    assert normalise(name, text, DEFAULTS) == kept


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("dp.mechanism", "exact", "'auto' or 'staircase' or 'shortest' or 'laplace' or 'gaussian'"),
        ("dp.delta", "1", "from 0 to below 1"),
        ("dp.delta", "-1e-9", "from 0 to below 1"),
        ("dp.delta", "1/1000", "from 0 to below 1"),
        ("dp.confidence", "1", "between 0 and 1"),
        ("dp.confidence", "0", "between 0 and 1"),
        ("dp.notices", "maybe", "'on' or 'off'"),
        ("dp.intervals", "yes", "'off' or 'columns'"),
        ("dp.budget", " ", "name of a budget"),
        ("client_encoding", "LATIN1", "UTF8"),
        ("DateStyle", "German", "ISO"),
        ("standard_conforming_strings", "off", "'on'"),
        ("bytea_output", "base64", "Available values: escape, hex."),
        ("extra_float_digits", "4", "from -15 to 3"),
        ("TimeZone", "'; DROP", "time zone"),
    ],
)
def test_a_refusal_names_what_is_allowed(name: str, text: str, hint: str):
    with pytest.raises(InvalidParameter) as caught:
        normalise(name, text, DEFAULTS)
    assert caught.value.sqlstate == "22023"
    assert hint in (caught.value.hint or "")


def test_an_unknown_setting_is_refused_with_near_names():
    with pytest.raises(UndefinedObject) as caught:
        find("dp.epsilom")
    assert "dp.epsilon" in (caught.value.hint or "")
    with pytest.raises(UndefinedObject):
        find("dp.seed")


@pytest.mark.parametrize(
    "name", ["server_version", "dp.budget_remaining", "is_superuser", "session_authorization"]
)
def test_a_fixed_setting_cannot_be_changed(name: str):
    with pytest.raises(FixedSetting):
        normalise(name, "1", DEFAULTS)


def test_session_epsilon_only_goes_down():
    current = {**DEFAULTS, "dp.session_epsilon": "0.5"}
    assert normalise("dp.session_epsilon", "0.4", current) == "0.4"
    assert normalise("dp.session_epsilon", "0.50", current) == "0.50"
    with pytest.raises(InvalidParameter):
        normalise("dp.session_epsilon", "0.6", current)
    assert keep_one_way(DEFAULTS, current)["dp.session_epsilon"] == "0.5"


def test_every_default_passes_its_own_check():
    for setting in SETTINGS.values():
        if setting.check and setting.default:
            assert setting.check(setting.default) == setting.default, setting.name
        assert setting.description.endswith("."), setting.name


def test_what_the_engine_reads():
    assert settings.epsilon(DEFAULTS) is None
    assert settings.session_epsilon(DEFAULTS) is None
    assert settings.session_epsilon({**DEFAULTS, "dp.session_epsilon": "2"}) == 2
    assert settings.delta(DEFAULTS) is None
    assert settings.delta({**DEFAULTS, "dp.delta": "1e-8"}) == Fraction(1, 10**8)
    assert settings.delta({**DEFAULTS, "dp.delta": "0"}) == 0
    assert settings.confidence(DEFAULTS) == Fraction(95, 100)
    assert settings.budget(DEFAULTS) is None
    assert settings.budget({**DEFAULTS, "dp.budget": "b"}) == "b"
    assert settings.mechanism(DEFAULTS) == "auto"
    assert settings.notices(DEFAULTS)
    assert settings.clamp(DEFAULTS)
    assert not settings.intervals(DEFAULTS)


def test_no_setting_switches_noise_off():
    assert {name for name in SETTINGS if name.startswith("dp.")} == {
        "dp.budget", "dp.epsilon", "dp.delta", "dp.target_error", "dp.confidence", "dp.mechanism", "dp.intervals",
        "dp.notices",
        "dp.prior",
        "dp.clamp", "dp.empty_groups", "dp.impossible", "dp.preview", "dp.reuse", "dp.round",
        "dp.session_epsilon", "dp.session_settings", "dp.budget_remaining", "dp.last_cost",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("bytea_output", "Available values: escape, hex."),
        ("IntervalStyle", "Available values: postgres, postgres_verbose, sql_standard, iso_8601."),
        ("dp.mechanism", "allowed is 'auto' or 'staircase' or 'shortest' or 'laplace' or 'gaussian'"),
    ],
)
def test_a_refused_value_is_quoted(name: str, hint: str):
    with pytest.raises(InvalidParameter) as caught:
        normalise(name, "foo", DEFAULTS)
    assert (caught.value.message, caught.value.hint) == (f'invalid value for parameter "{name}": "foo"', hint)


def test_what_is_reported_can_be_put_back():
    reported = [key for key in REPORTED if key.startswith("dp.")]
    assert {key for key in SETTINGS if key.startswith("dp.")} - set(reported) == {
        "dp.budget_remaining",
        "dp.last_cost",
    }
    for key in reported:
        if not SETTINGS[key].lowers_only:
            assert normalise(key, DEFAULTS[key], {**DEFAULTS, "dp.epsilon": "0.5"}) == DEFAULTS[key]
