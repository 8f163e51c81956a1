"""Session settings: the table of all settings, their checks, and typed access to those that the engine uses.

Values are text, as clients send and see them; names match in any case. A check returns the value in the form that SHOW
prints.
"""

import difflib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra.plan import Settings
from dpproxy.config import setting_checks as checks
from dpproxy.config.setting_checks import Check, decimal
from dpproxy.config.tuning import tuning
from dpproxy.values.errors import FixedSetting, InvalidParameter, UndefinedObject
from udfs.mechanisms import MECHANISMS

Impossible = Literal["show", "clamp", "null"]
"""The values of dp.impossible."""
EmptyGroups = Literal["auto", "show", "hide"]
"""The values of dp.empty_groups."""
Reuse = Literal["always", "better", "never"]
"""The values of dp.reuse."""


class Setting(Struct, frozen=True):
    """One setting; ``check`` is None where a session cannot change it."""

    name: str
    default: str
    check: Check | None
    description: str
    reported: bool = False
    """Whether changes are sent to the client as ParameterStatus."""
    from_engine: bool = False
    """Whether the engine computes its value at each SHOW; no value is stored."""
    lowers_only: bool = False
    """Whether it can only be lowered; a rollback does not restore a larger value."""
    one_way: str = ""
    """A value that, once set, cannot be changed in the session."""


_PRIVACY = (
    Setting("dp.budget", "", checks.budget, "The budget to pay from, where several fit."),
    Setting("dp.epsilon", "", checks.epsilon, "The total loss of one statement, in nats."),
    Setting(
        "dp.delta",
        "",
        checks.delta,
        "The delta of one statement: for discovered keys, and for Gaussian noise.",
    ),
    Setting(
        "dp.target_error",
        "",
        checks.target,
        "The half-width that no column shall exceed, or a share as in '5 %': epsilon is solved for it; off by default.",
    ),
    Setting(
        "dp.confidence",
        "0.95",
        checks.probability,
        "Probability that an error stays within its stated half-width.",
    ),
    Setting(
        "dp.mechanism",
        "auto",
        checks.one_of("auto", *MECHANISMS),
        "The mechanism that draws the noise; auto is the one of least predicted error.",
    ),
    Setting(
        "dp.intervals",
        "off",
        checks.one_of("off", "columns"),
        "Adds a column of interval bounds per measure.",
    ),
    Setting("dp.notices", "on", checks.switch, "Tells cost and remaining budget after each answer."),
    Setting(
        "dp.clamp",
        "on",
        checks.switch,
        "Shows released counts not below zero, and those of different values not above the declared number.",
    ),
    Setting(
        "dp.empty_groups",
        "auto",
        checks.one_of("auto", "show", "hide"),
        "Whether groups are shown whose released count is too small to tell that they have rows; "
        "auto hides them in more than 1,000 groups, by a count or a sum that the statement has anyway.",
    ),
    Setting(
        "dp.impossible",
        "show",
        checks.one_of("show", "clamp", "null"),
        "What is shown for sums of a sign that they cannot have (clamp: 0), for averages and others of nobody (null).",
    ),
    Setting(
        "dp.reuse",
        "always",
        checks.one_of("always", "better", "never"),
        "When released answers are used again: better unless a new draw would halve the error, which is charged then.",
    ),
    Setting(
        "dp.round",
        "off",
        checks.one_of("off", "significant"),
        "significant: shown values are rounded to the second digit of their half-width.",
    ),
    Setting(
        "dp.preview",
        "off",
        checks.one_of("off", "view"),
        "Asks a protected view where a statement about its table has no answer.",
    ),
    Setting("dp.prior", "", checks.prior, "The prior of dp.with_prior(x) where none is written."),
    Setting(
        "dp.session_epsilon",
        "",
        checks.epsilon,
        "Most this session may lose of each budget; lowers only.",
        lowers_only=True,
    ),
    Setting(
        "dp.session_settings",
        "session",
        checks.one_of("session", "transaction"),
        "transaction: SET of a dp setting ends with its transaction, and is refused outside; for poolers.",
        one_way="transaction",
    ),
    Setting("dp.budget_remaining", "", None, "What is left of the budget.", from_engine=True),
    Setting("dp.last_cost", "", None, "What the last answer cost.", from_engine=True),
)

_REPORTED = (
    Setting("application_name", "", checks.text, "The client's own name.", reported=True),
    Setting("client_encoding", "UTF8", checks.encoding, "Text is always UTF-8.", reported=True),
    Setting(
        "DateStyle", "ISO, MDY", checks.date_style, "Dates are always written as ISO 8601.", reported=True
    ),
    Setting("default_transaction_read_only", "off", checks.switch, "Read-only by default.", reported=True),
    Setting("in_hot_standby", "off", None, "Whether this is a standby.", reported=True),
    Setting("integer_datetimes", "on", None, "Binary timestamps are integers.", reported=True),
    Setting(
        "IntervalStyle",
        "postgres",
        checks.available("postgres", "postgres_verbose", "sql_standard", "iso_8601"),
        "How intervals are written.",
        reported=True,
    ),
    Setting("is_superuser", "off", None, "Nobody is.", reported=True),
    Setting("password_encryption", "scram-sha-256", None, "What psql's \\password makes of a password."),
    Setting("server_encoding", "UTF8", None, "Text is always UTF-8.", reported=True),
    Setting(
        "server_version", "15.0", None, "The PostgreSQL whose protocol and names are followed.", reported=True
    ),
    Setting("session_authorization", "", None, "The user of the session.", reported=True),
    Setting(
        "standard_conforming_strings",
        "on",
        checks.only("on"),
        "Backslashes in plain strings are themselves.",
        reported=True,
    ),
    Setting(
        "TimeZone",
        "UTC",
        checks.time_zone,
        "The zone of moments (timestamptz) that leave, and of those read without one.",
        reported=True,
    ),
)

_KEPT = (
    Setting("backslash_quote", "safe_encoding", checks.ANY, "Kept for clients."),
    Setting("bytea_output", "hex", checks.available("escape", "hex"), "How bytes are written in text."),
    Setting(
        "client_min_messages",
        "notice",
        checks.available(
            "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"
        ),
        "The least severity that is sent beside answers; dp.notices switches those of privacy off alone.",
    ),
    Setting("default_transaction_deferrable", "off", checks.switch, "Kept for clients."),
    Setting("default_transaction_isolation", "read committed", checks.ISOLATION, "Kept for clients."),
    Setting("escape_string_warning", "on", checks.switch, "Kept for clients."),
    Setting(
        "extra_float_digits",
        "1",
        checks.integer(-15, 3),
        "Floats are always written in the shortest exact form.",
    ),
    Setting(
        "idle_in_transaction_session_timeout",
        "0",
        checks.duration,
        "Ends a session that is silent for so long in a transaction.",
    ),
    Setting("idle_session_timeout", "0", checks.duration, "Ends a session that is silent for so long."),
    Setting("jit", "off", checks.switch, "Kept for clients."),
    Setting("lc_collate", "C", None, "Text is ordered by bytes."),
    Setting("lc_ctype", "C.UTF-8", None, "Character classes."),
    Setting("lc_messages", "C", checks.ANY, "Messages are English."),
    Setting("lc_monetary", "C", checks.ANY, "Kept for clients."),
    Setting("lc_numeric", "C", checks.ANY, "Kept for clients."),
    Setting("lc_time", "C", checks.ANY, "Kept for clients."),
    Setting("lock_timeout", "0", checks.duration, "Kept for clients."),
    Setting("max_identifier_length", "63", None, "Longest name."),
    Setting("max_index_keys", "32", None, "Kept for clients."),
    Setting("row_security", "on", checks.switch, "Kept for clients."),
    Setting("search_path", '"$user", public', checks.ANY, "Where names without a schema are looked up."),
    Setting("server_version_num", "150000", None, "server_version as a number."),
    Setting(
        "statement_timeout",
        "0",
        checks.duration,
        "Cancels statements after it; what was charged stays charged.",
    ),
    Setting("synchronous_commit", "on", checks.ANY, "Kept for clients; the ledger is always synchronous."),
    Setting("transaction_deferrable", "off", checks.switch, "Of the current transaction."),
    Setting("transaction_isolation", "read committed", checks.ISOLATION, "Of the current transaction."),
    Setting("transaction_read_only", "off", checks.switch, "Of the current transaction."),
)

_TUNING = tuple(Setting(*each, "Kept for clients; nothing is planned by it.") for each in tuning())

_TOLD = tuple(replace(s, reported=s.check is not None) for s in _PRIVACY)
"""All dp settings that can be SET are reported: poolers that track reported settings then restore them."""

SETTINGS: dict[str, Setting] = {s.name.lower(): s for s in _TOLD + _REPORTED + _KEPT + _TUNING}
DEFAULTS: Settings = {key: s.default for key, s in SETTINGS.items()}
FROM_ENGINE: tuple[str, ...] = tuple(key for key, s in SETTINGS.items() if s.from_engine)
REPORTED: tuple[str, ...] = tuple(key for key, s in SETTINGS.items() if s.reported)


_OF_OTHERS = re.compile(r"(?!dp\.)[a-z_][a-z0-9_]{0,62}\.[a-z_][a-z0-9_]{0,62}").fullmatch
"""Names of custom settings, in a namespace that is not ours."""
MOST_OF_OTHERS = 100
"""The most such settings in one session."""


def find(name: str, position: int | None = None) -> Setting:
    """The setting of that name.

    Errors: ``UndefinedObject`` with the nearest names.
    """
    try:
        return SETTINGS[name.lower()]
    except KeyError:
        if _OF_OTHERS(name.lower()):
            return Setting(name.lower(), "", checks.ANY, "Kept for clients.")
        near = difflib.get_close_matches(name.lower(), SETTINGS, n=3)
        hint = (
            f"did you mean {' or '.join(SETTINGS[key].name for key in near)}?"
            if near
            else "SHOW ALL lists them"
        )
        message = f'unrecognized configuration parameter "{name}"'
        raise UndefinedObject(message, hint=hint, position=position) from None


def normalise(name: str, text: str, current: Settings) -> str:
    """The value that is stored for a setting when it is SET to ``text``.

    Errors: ``UndefinedObject``, ``FixedSetting``, ``InvalidParameter``.

    >>> normalise("client_encoding", "utf-8", DEFAULTS)
    'UTF8'
    """
    setting = find(name)
    if setting.check is None:
        raise FixedSetting(f'parameter "{setting.name}" cannot be changed')
    if not text and setting.name.startswith("dp.") and not (setting.default or setting.lowers_only):
        return ""  # unset: poolers restore the empty value that was reported
    try:
        value = setting.check(text)
    except ValueError as error:
        hint = str(error) if isinstance(error, checks.NotAvailable) else f"allowed is {error}"
        raise InvalidParameter(f'invalid value for parameter "{setting.name}": "{text}"', hint=hint) from None
    if setting.lowers_only:
        _refuse_rise(setting, value, current)
    if setting.one_way and current.get(setting.name.lower()) == setting.one_way != value:
        raise InvalidParameter(
            f'parameter "{setting.name}" stays "{setting.one_way}" within a session',
            hint="a new connection starts without it",
        )
    return value


def _refuse_rise(setting: Setting, value: str, current: Settings) -> None:
    old = current[setting.name.lower()]
    if old and decimal(value) > decimal(old):
        raise InvalidParameter(
            f'parameter "{setting.name}" can only be lowered within a session',
            hint=f"allowed is at most {old}; a new connection starts without it",
        )


def keep_one_way(new: Mapping[str, str], current: Settings) -> dict[str, str]:
    """``new`` settings, but those that can only be lowered, or that cannot change again, as in ``current``."""
    kept = (key for key, s in SETTINGS.items() if s.lowers_only or (s.one_way and current[key] == s.one_way))
    return {**new, **{key: current[key] for key in kept}}


def is_shared(settings: Settings) -> bool:
    """Whether a pooler may give the connection to another client for its next transaction."""
    return settings["dp.session_settings"] == "transaction"


PRESENT = "present"
"""A key beside the settings of a statement that depends on the time, with the values of ``now()`` and the like."""
UNPLANNED = frozenset({"dp.notices", "dp.reuse", "dp.session_settings"})
"""The dp settings that no plan depends on: about notices, what answers a plan, and how long settings last."""
PLANNED_BY = (
    "timezone",
    "search_path",
    *(
        key
        for key, setting in SETTINGS.items()
        if key.startswith("dp.") and not setting.from_engine and key not in UNPLANNED
    ),
)
"""The settings that plans depend on: time zone, search path, and all stored dp settings except ``UNPLANNED``."""


def search_path(settings: Settings, user: str) -> tuple[str, ...]:
    """The schemas in which names without one are looked up, in order; not all need be there.

    >>> search_path({"search_path": '"$user", Clinic, "Lab", public'}, "ann")
    ('ann', 'clinic', 'Lab', 'public')
    """
    words = (word.strip() for word in settings.get("search_path", "public").split(","))
    names = (
        w[1:-1].replace('""', '"') if w.startswith('"') and w.endswith('"') else w.lower() for w in words
    )
    return tuple(dict.fromkeys(user if name == "$user" else name for name in names if name))


def moments(began: datetime, arrived: datetime) -> str:
    """The value of ``PRESENT``: when the statement's transaction began, and when it arrived itself, in UTC."""
    return " ".join(m.astimezone(UTC).replace(tzinfo=None).isoformat() for m in (began, arrived))


def fleeting(settings: Settings) -> tuple[str, ...]:
    """Texts that a constant contains where it was computed from the current time to the second or finer."""
    found = [datetime.fromisoformat(text) for text in settings.get(PRESENT, "").split()]
    return tuple(f"{m:%f}" if m.microsecond else f"{m:%M:%S}" for m in found)


# --- typed values for the engine ------------------------------------------------------------------------


def epsilon(settings: Settings) -> Fraction | None:
    """dp.epsilon, None where not set."""
    return decimal(settings["dp.epsilon"]) if settings["dp.epsilon"] else None


def target_error(settings: Settings) -> checks.Target | None:
    """dp.target_error, None where not set."""
    return checks.Target.read(settings["dp.target_error"]) if settings["dp.target_error"] else None


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


def mechanism(settings: Settings) -> str:
    """dp.mechanism: auto, or one of ``MECHANISMS``."""
    return settings["dp.mechanism"]


def prior(settings: Settings) -> str | None:
    """dp.prior, None where not set."""
    return settings["dp.prior"] or None


def intervals(settings: Settings) -> bool:
    """Whether dp.intervals adds interval columns."""
    return settings["dp.intervals"] == "columns"


def notices(settings: Settings) -> bool:
    """dp.notices."""
    return settings["dp.notices"] == "on"


def preview(settings: Settings) -> bool:
    """dp.preview."""
    return settings["dp.preview"] == "view"


def clamp(settings: Settings) -> bool:
    """dp.clamp."""
    return settings["dp.clamp"] == "on"


def impossible(settings: Settings) -> Impossible:
    """dp.impossible."""
    return cast("Impossible", settings["dp.impossible"])


def is_rounded(settings: Settings) -> bool:
    """Whether dp.round drops digits that say nothing."""
    return settings["dp.round"] == "significant"


def empty_groups(settings: Settings) -> EmptyGroups:
    """dp.empty_groups."""
    return cast("EmptyGroups", settings["dp.empty_groups"])


def reuse(settings: Settings) -> Reuse:
    """dp.reuse."""
    return cast("Reuse", settings["dp.reuse"])
