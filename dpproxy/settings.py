"""Session settings: one table of all of them, their checks, and what the engine reads from them.

Values are text, as a client gives and sees them; names match in any case. What a check accepts it returns
in the form that SHOW prints.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast

from dpproxy.errors import FixedSetting, InvalidParameter, UndefinedObject
from dpproxy.plan import Settings
from udfs.prior_notation import parse as parse_prior
from udfs.privacy import InvalidMechanism

Check = Callable[[str], str]
"""Text as given to text as kept; raises ValueError with what would be accepted."""

Wanted = Literal["auto", "staircase", "laplace", "gaussian"]
"""The values of dp.mechanism."""

LEAST_EPSILON = Fraction(1, 1000)
MOST_EPSILON = Fraction(10**6)
_DECIMAL = re.compile(r"(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting; ``check`` is None where a session cannot change it."""

    name: str
    default: str
    check: Check | None
    description: str
    reported: bool = False
    """Its changes are sent as ParameterStatus."""
    from_engine: bool = False
    """Its value is asked from the engine, not kept."""
    lowers_only: bool = False
    """A new value must not exceed the old one, and a rollback does not bring the old one back."""


def decimal(text: str) -> Fraction:
    """The exact value of a decimal literal without a sign.

    Errors: ValueError.

    >>> decimal("0.05")
    Fraction(1, 20)
    """
    if not _DECIMAL.fullmatch(text.strip()):
        raise ValueError("a decimal number such as 0.1")
    return Fraction(text.strip())


def _epsilon(text: str) -> str:
    allowed = f"a decimal number from 0.001 to {MOST_EPSILON}"
    if not _DECIMAL.fullmatch(text.strip()) or not LEAST_EPSILON <= decimal(text) <= MOST_EPSILON:
        raise ValueError(allowed)
    return text.strip()


def _probability(text: str) -> str:
    if not _DECIMAL.fullmatch(text.strip()) or not 0 < decimal(text) < 1:
        raise ValueError("a decimal number between 0 and 1, such as 0.95")
    return text.strip()


def _delta(text: str) -> str:
    if not _DECIMAL.fullmatch(text.strip()) or not 0 <= decimal(text) < 1:
        raise ValueError("a decimal number from 0 to below 1, such as 1e-8")
    return text.strip()


def _one_of(*allowed: str) -> Check:
    def check(text: str) -> str:
        if text.strip().lower() not in allowed:
            raise ValueError(" or ".join(f"'{word}'" for word in allowed))
        return text.strip().lower()

    return check


_WORDS = {
    "on": "on",
    "true": "on",
    "yes": "on",
    "1": "on",
    "off": "off",
    "false": "off",
    "no": "off",
    "0": "off",
}


def _switch(text: str) -> str:
    try:
        return _WORDS[text.strip().lower()]
    except KeyError:
        raise ValueError("'on' or 'off'") from None


def _only(value: str) -> Check:
    """A switch that has one position; ``value`` is on or off."""

    def check(text: str) -> str:
        if _switch(text) != value:
            raise ValueError(f"'{value}'")
        return value

    return check


def _integer(low: int, high: int) -> Check:
    def check(text: str) -> str:
        if not re.fullmatch(r"[+-]?\d{1,10}", text.strip(), re.ASCII) or not low <= int(text) <= high:
            raise ValueError(f"an integer from {low} to {high}")
        return str(int(text))

    return check


def _matching(pattern: str, allowed: str) -> Check:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text.strip(), re.ASCII):
            raise ValueError(allowed)
        return text.strip()

    return check


def _prior(text: str) -> str:
    try:
        parse_prior(text)
    except InvalidMechanism:
        raise ValueError("a prior such as 'normal(44, 6)'") from None
    return text.strip()


def _text(text: str) -> str:
    """Printable ASCII at most, as PostgreSQL keeps application_name."""
    return "".join(c if " " <= c <= "~" else "?" for c in text)[:63]


def _encoding(text: str) -> str:
    word = text.strip().upper().replace("-", "").replace("_", "")
    if word in {"UTF8", "UNICODE"}:
        return "UTF8"
    if word == "SQLASCII":  # what libpq asks for in the C locale: no conversion
        return "SQL_ASCII"
    raise ValueError("'UTF8'")


def _date_style(text: str) -> str:
    order = "MDY"
    orders = {"MDY": "MDY", "US": "MDY", "DMY": "DMY", "EUROPEAN": "DMY", "YMD": "YMD"}
    for word in text.upper().replace(" ", "").split(","):
        if word != "ISO" and word not in orders:
            raise ValueError("'ISO', alone or with MDY, DMY or YMD")
        order = orders.get(word, order)
    return f"ISO, {order}"


def _budget(text: str) -> str:
    if not 0 < len(text.strip()) <= 63:
        raise ValueError("the name of a budget")
    return text.strip()


_DURATION = _matching(r"\d{1,10}\s*(us|ms|s|min|h|d)?", "a duration such as '5s', or 0")
_ZONE = _matching(r"[A-Za-z][A-Za-z0-9_+\-/]{0,62}|[+-]?\d{1,2}(:\d\d){0,2}", "the name of a time zone")
_ANY = _matching(r"[^\0]{0,1000}", "at most 1000 characters")
_ISOLATION = _one_of("serializable", "repeatable read", "read committed", "read uncommitted")

_PRIVACY = (
    Setting("dp.budget", "", _budget, "The budget to pay from, where several fit."),
    Setting("dp.epsilon", "", _epsilon, "The total loss of one statement, in nats."),
    Setting(
        "dp.delta", "", _delta, "The delta of one statement: for discovered keys, and for Gaussian noise."
    ),
    Setting(
        "dp.confidence", "0.95", _probability, "Probability that an error stays within its stated half-width."
    ),
    Setting(
        "dp.mechanism",
        "auto",
        _one_of("auto", "staircase", "laplace", "gaussian"),
        "The mechanism that draws the noise; auto is the one of least predicted error.",
    ),
    Setting(
        "dp.intervals", "off", _one_of("off", "columns"), "Adds a column of interval bounds per measure."
    ),
    Setting("dp.notices", "on", _switch, "Tells cost and remaining budget after each answer."),
    Setting("dp.clamp", "on", _switch, "Keeps released counts from going below zero."),
    Setting("dp.prior", "", _prior, "The prior of dp.with_prior(x) where none is written."),
    Setting(
        "dp.session_epsilon",
        "",
        _epsilon,
        "Most this session may lose in all; lowers only.",
        lowers_only=True,
    ),
    Setting("dp.budget_remaining", "", None, "What is left of the budget.", from_engine=True),
    Setting("dp.last_cost", "", None, "What the last answer cost.", from_engine=True),
)

_REPORTED = (
    Setting("application_name", "", _text, "The client's own name.", reported=True),
    Setting("client_encoding", "UTF8", _encoding, "Text is always UTF-8.", reported=True),
    Setting("DateStyle", "ISO, MDY", _date_style, "Dates are always written as ISO 8601.", reported=True),
    Setting("default_transaction_read_only", "off", _switch, "Read-only by default.", reported=True),
    Setting("in_hot_standby", "off", None, "Whether this is a standby.", reported=True),
    Setting("integer_datetimes", "on", None, "Binary timestamps are integers.", reported=True),
    Setting(
        "IntervalStyle",
        "postgres",
        _one_of("postgres", "postgres_verbose", "sql_standard", "iso_8601"),
        "How intervals would be written.",
        reported=True,
    ),
    Setting("is_superuser", "off", None, "Nobody is.", reported=True),
    Setting("server_encoding", "UTF8", None, "Text is always UTF-8.", reported=True),
    Setting(
        "server_version", "15.0", None, "The PostgreSQL whose protocol and names are followed.", reported=True
    ),
    Setting("session_authorization", "", None, "The user of the session.", reported=True),
    Setting(
        "standard_conforming_strings",
        "on",
        _only("on"),
        "Backslashes in plain strings are themselves.",
        reported=True,
    ),
    Setting("TimeZone", "UTC", _ZONE, "Kept for clients; timestamps leave in UTC.", reported=True),
)

_KEPT = (
    Setting("backslash_quote", "safe_encoding", _ANY, "Kept for clients."),
    Setting("bytea_output", "hex", _one_of("hex"), "Bytes are written in hexadecimal."),
    Setting(
        "client_min_messages",
        "notice",
        _one_of("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"),
        "Kept for clients; dp.notices switches notices off.",
    ),
    Setting("default_transaction_deferrable", "off", _switch, "Kept for clients."),
    Setting("default_transaction_isolation", "read committed", _ISOLATION, "Kept for clients."),
    Setting("escape_string_warning", "on", _switch, "Kept for clients."),
    Setting(
        "extra_float_digits", "1", _integer(-15, 3), "Floats are always written in the shortest exact form."
    ),
    Setting("idle_in_transaction_session_timeout", "0", _DURATION, "Kept for clients."),
    Setting("idle_session_timeout", "0", _DURATION, "Kept for clients."),
    Setting("jit", "off", _switch, "Kept for clients."),
    Setting("lc_collate", "C", None, "Text is ordered by bytes."),
    Setting("lc_ctype", "C.UTF-8", None, "Character classes."),
    Setting("lc_messages", "C", _ANY, "Messages are English."),
    Setting("lc_monetary", "C", _ANY, "Kept for clients."),
    Setting("lc_numeric", "C", _ANY, "Kept for clients."),
    Setting("lc_time", "C", _ANY, "Kept for clients."),
    Setting("lock_timeout", "0", _DURATION, "Kept for clients."),
    Setting("max_identifier_length", "63", None, "Longest name."),
    Setting("max_index_keys", "32", None, "Kept for clients."),
    Setting("plan_cache_mode", "auto", _ANY, "Kept for clients."),
    Setting("row_security", "on", _switch, "Kept for clients."),
    Setting("search_path", '"$user", public', _ANY, "Kept for clients; tables are in public."),
    Setting("server_version_num", "150000", None, "server_version as a number."),
    Setting("statement_timeout", "0", _DURATION, "Kept for clients; the server's own limits hold."),
    Setting("synchronous_commit", "on", _ANY, "Kept for clients; the ledger is always synchronous."),
    Setting("transaction_deferrable", "off", _switch, "Of the current transaction."),
    Setting("transaction_isolation", "read committed", _ISOLATION, "Of the current transaction."),
    Setting("transaction_read_only", "off", _switch, "Of the current transaction."),
    Setting("work_mem", "4MB", _ANY, "Kept for clients."),
)

SETTINGS: dict[str, Setting] = {s.name.lower(): s for s in _PRIVACY + _REPORTED + _KEPT}
DEFAULTS: Settings = {key: s.default for key, s in SETTINGS.items()}
REPORTED: tuple[str, ...] = tuple(key for key, s in SETTINGS.items() if s.reported)


def find(name: str, position: int | None = None) -> Setting:
    """The setting of that name.

    Errors: ``UndefinedObject`` with the nearest names.
    """
    try:
        return SETTINGS[name.lower()]
    except KeyError:
        near = difflib.get_close_matches(name.lower(), SETTINGS, n=3)
        hint = (
            f"did you mean {' or '.join(SETTINGS[key].name for key in near)}?"
            if near
            else "SHOW ALL lists them"
        )
        message = f'unrecognized configuration parameter "{name}"'
        raise UndefinedObject(message, hint=hint, position=position) from None


def checked(name: str, text: str, current: Settings) -> str:
    """The value as it is kept, of a setting that ``text`` is to be given to.

    Errors: ``UndefinedObject``, ``FixedSetting``, ``InvalidParameter``.

    >>> checked("client_encoding", "utf-8", DEFAULTS)
    'UTF8'
    """
    setting = find(name)
    if setting.check is None:
        raise FixedSetting(f'parameter "{setting.name}" cannot be changed')
    try:
        value = setting.check(text)
    except ValueError as error:
        raise InvalidParameter(
            f'invalid value for parameter "{setting.name}"', hint=f"allowed is {error}"
        ) from None
    if setting.lowers_only:
        _refuse_rise(setting, value, current)
    return value


def _refuse_rise(setting: Setting, value: str, current: Settings) -> None:
    old = current[setting.name.lower()]
    if old and decimal(value) > decimal(old):
        raise InvalidParameter(
            f'parameter "{setting.name}" can only be lowered within a session',
            hint=f"allowed is at most {old}; a new connection starts without it",
        )


def kept_low(new: Mapping[str, str], current: Settings) -> dict[str, str]:
    """``new``, with the settings that only go down as they are in ``current``."""
    return {**new, **{key: current[key] for key, s in SETTINGS.items() if s.lowers_only}}


# --- what the engine reads ------------------------------------------------------------------------


def epsilon(settings: Settings) -> Fraction | None:
    """dp.epsilon, None where not set."""
    return decimal(settings["dp.epsilon"]) if settings["dp.epsilon"] else None


def delta(settings: Settings) -> Fraction | None:
    """dp.delta, None where not set: the budget's DELTA / 100."""
    return decimal(settings["dp.delta"]) if settings["dp.delta"] else None


def session_epsilon(settings: Settings) -> Fraction | None:
    """dp.session_epsilon, None where not set."""
    return decimal(settings["dp.session_epsilon"]) if settings["dp.session_epsilon"] else None


def confidence(settings: Settings) -> Fraction:
    """dp.confidence."""
    return decimal(settings["dp.confidence"])


def budget(settings: Settings) -> str | None:
    """dp.budget, None where not set."""
    return settings["dp.budget"] or None


def mechanism(settings: Settings) -> Wanted:
    """dp.mechanism."""
    return cast("Wanted", settings["dp.mechanism"])


def prior(settings: Settings) -> str | None:
    """dp.prior, None where not set."""
    return settings["dp.prior"] or None


def intervals(settings: Settings) -> bool:
    """True where interval columns are asked for."""
    return settings["dp.intervals"] == "columns"


def notices(settings: Settings) -> bool:
    """dp.notices."""
    return settings["dp.notices"] == "on"


def clamp(settings: Settings) -> bool:
    """dp.clamp."""
    return settings["dp.clamp"] == "on"
