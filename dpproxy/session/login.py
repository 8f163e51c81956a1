"""What a startup message asks for: protocol options, user, database, settings."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dpproxy.algebra.plan import Settings
from dpproxy.config.settings import DEFAULTS, find, normalise
from dpproxy.values.errors import InvalidParameter, ProtocolViolation, Unsupported
from dpproxy.wire.messages import NegotiateProtocolVersion, Startup

_NOT_SETTINGS = frozenset({"user", "database", "options", "replication"})
_COPIERS = frozenset({"pg_dump", "pg_dumpall", "pg_restore"})
"""Programs that copy whole databases, by their application_name."""
_OFF = frozenset({"", "false", "off", "no", "0"})
_WORD = re.compile(r"(?:\\.|[^\s\\])+", re.DOTALL)


NOTHING: Final[Settings] = {}
NEWEST: Final = 2
"""Protocol 3.2: cancel keys may be long."""
LONG_KEY: Final = 32


def negotiation(startup: Startup) -> NegotiateProtocolVersion | None:
    """The message that tells a client which protocol versions and options are not supported; None where all are."""
    unknown = tuple(name for name in startup.parameters if name.startswith("_pq_."))
    spoken = min(startup.minor, NEWEST)
    return NegotiateProtocolVersion(spoken, unknown) if unknown or startup.minor > NEWEST else None


def key_length(startup: Startup) -> int:
    """The length of the cancel key in bytes."""
    return LONG_KEY if startup.minor >= NEWEST else 4


def user_of(startup: Startup) -> str:
    """The user that the message names.

    Errors: ``ProtocolViolation`` where it names none, ``Unsupported`` for a replication connection, and for a program
    that copies whole databases.
    """
    program = startup.parameters.get(
        "application_name", startup.parameters.get("fallback_application_name", "")
    )
    if program in _COPIERS:
        raise Unsupported(
            f"{program} copies the rows of tables, which nobody is given here",
            hint="psql writes answers with \\copy; dpproxy policy dump writes the policy.",
        )
    if startup.parameters.get("replication", "").lower() not in _OFF:
        raise Unsupported("a replication connection", hint="connect without the parameter replication")
    if not (user := startup.parameters.get("user", "")):
        raise ProtocolViolation("no user name in the startup message")
    return user


def database_of(startup: Startup) -> str:
    """The database, which is the user's name unless given."""
    return startup.parameters.get("database") or startup.parameters["user"]


def settings_of(startup: Startup, configured: Settings = NOTHING) -> Settings:
    """The session's settings: the defaults, what the role starts with, ``options``, then the other parameters.

    Errors: ``UndefinedObject``, ``FixedSetting``, ``InvalidParameter``.
    """
    asked = dict(read_options(startup.parameters.get("options", "")))
    asked |= {name: value for name, value in startup.parameters.items() if _is_setting(name)}
    given = {**DEFAULTS, **configured}
    values = {find(name).name.lower(): normalise(name, value, given) for name, value in asked.items()}
    own = {"session_authorization": startup.parameters["user"]}
    return _with_transaction({**given, **values, **own})


def _is_setting(name: str) -> bool:
    return name not in _NOT_SETTINGS and not name.startswith("_pq_.")


def _with_transaction(settings: Mapping[str, str]) -> Settings:
    """The settings, with the current transaction's set to their ``default_transaction_`` values."""
    prefix = "default_transaction_"
    defaults = {key.removeprefix("default_"): v for key, v in settings.items() if key.startswith(prefix)}
    return {**settings, **defaults}


def read_options(text: str) -> Iterator[tuple[str, str]]:
    r"""The settings in ``options``: ``-c name=value`` or ``--name=value``; a backslash quotes.

    Errors: ``InvalidParameter``.

    >>> list(read_options(r"-c dp.epsilon=0.05 --search-path=a,\ b"))
    [('dp.epsilon', '0.05'), ('search_path', 'a, b')]
    """
    words = iter([re.sub(r"\\(.)", r"\1", word, flags=re.DOTALL) for word in _WORD.findall(text)])
    for word in words:
        given = next(words, "") if word == "-c" else word.removeprefix("-c").removeprefix("--")
        name, equals, value = given.partition("=")
        if not (word.startswith(("-c", "--")) and equals and name):
            raise InvalidParameter("options that do not read", hint="write -c name=value for each setting")
        yield name.replace("-", "_"), value
