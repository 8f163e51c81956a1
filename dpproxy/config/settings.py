"""Session settings: the table of all settings, their checks, and typed access to those that the engine uses.

Values are text, as clients send and see them; names match in any case. A check returns the value in the form that SHOW
prints.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from importlib.resources import files
from typing import Any, Literal, cast

from msgspec import Struct

from dpproxy.algebra.plan import Settings
from dpproxy.config import setting_checks as checks
from dpproxy.config import tuning
from dpproxy.config.setting_checks import Check, decimal
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


_CHECKS: Mapping[str, Check] = {
    "any": checks.ANY, "budget": checks.budget, "date_style": checks.date_style, "delta": checks.delta,
    "duration": checks.duration, "encoding": checks.encoding, "epsilon": checks.epsilon,
    "exclusion": tuning.exclusion, "isolation": checks.ISOLATION, "mechanism": checks.one_of("auto", *MECHANISMS),
    "prior": checks.prior, "probability": checks.probability, "switch": checks.switch, "target": checks.target,
    "text": checks.text, "time_zone": checks.time_zone,
}  # fmt: skip
_KINDS_OF_CHECKS: Mapping[str, Callable[..., Check]] = {
    "available": checks.available, "one_of": checks.one_of, "only": checks.only, "real": tuning.real,
    "size": tuning.size, "whole": tuning.whole, "integer": lambda low, high: checks.integer(int(low), int(high)),
}  # fmt: skip
"""Made of the words that follow the name in ``settings.tsv``."""


def _setting(line: str) -> Setting:
    """A line of ``settings.tsv``. All dp settings that can be SET are reported, so that poolers restore them."""
    name, default, written, kind, description = line.split("\t")
    word, *given = written.split() or [""]
    check = _KINDS_OF_CHECKS[word](*given) if given else _CHECKS[word] if word else None
    own: dict[str, Any] = {
        key: value or True for key, _, value in (one.partition("=") for one in kind.split())
    }
    if name.startswith("dp.") and check is not None:
        own["reported"] = True
    return Setting(name, default, check, description, **own)


_LINES = files("dpproxy.config").joinpath("settings.tsv").read_text(encoding="utf-8").splitlines()[1:]
SETTINGS: dict[str, Setting] = {s.name.lower(): s for s in map(_setting, _LINES)}
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
