"""The settings that sessions of a role start with: a file in the state directory, read at each login."""

import json
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra.plan import Caller, Settings
from dpproxy.config.settings import DEFAULTS, SETTINGS, find, normalise
from dpproxy.policy.role_statements import RoleChange
from dpproxy.sql.quoting import identifier
from dpproxy.system import disk
from dpproxy.values.errors import CatalogueUnavailable, InvalidParameter, NotGranted, Refusal, UnknownDatabase

FILE: Final = "roles.json"
MOST: Final = 10_000
"""Entries of the file."""
EVERYBODY: Final = ""
"""The role of ALTER ROLE ALL."""


class RoleDefaults(Struct, frozen=True):
    """The settings of one role, in one database or, for an empty name, in all; in the order of their ALTER ROLE.

    ``is_user`` is True where the name is a user's, False where it is a role's.
    """

    role: str
    database: str
    settings: tuple[tuple[str, str], ...]
    is_user: bool = False

    @property
    def assignments(self) -> list[str]:
        """The settings as pg_db_role_setting lists them."""
        return [f"{find(name).name}={value}" for name, value in self.settings]


class Move(NamedTuple):
    """A setting of a role, by lower-case name, before and after ALTER ROLE; None where it had or has none."""

    setting: str
    was: str | None
    now: str | None

    @property
    def lowers(self) -> bool | None:
        """Of a setting that can only be lowered by others than administrators, whether it is lower now; else None."""
        if not _only_goes_down(self.setting):
            return None
        return self._limit(self.now) < self._limit(self.was)

    def _limit(self, value: str | None) -> float:
        """A value that is no longer valid limits nothing."""
        is_valid = value is not None and _valid_setting(self.setting, value, DEFAULTS)
        return float(value) if value is not None and is_valid else math.inf


class RoleSettings:
    """The settings of all roles; may be used by several processes.

    Users and roles are separate name spaces: a user cannot change a role of the same name. A user's own settings
    override those of the user's roles. ALTER ROLE by an administrator applies to user and role of the name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FILE

    def visible_to(self, caller: Caller) -> tuple[RoleDefaults, ...]:
        """The settings that the caller may see: their own and their roles'; an administrator sees all."""
        found = [one for one in self._read() if caller.is_admin or _rank(one, caller) is not None]
        return tuple({(one.role, one.database, one.settings): one for one in found}.values())

    def of(self, caller: Caller) -> Settings:
        """The settings that a session of the caller starts with, by lower-case name.

        Of a setting that can only be lowered, the least value counts. Settings or values that are no longer valid are
        left out.
        """
        found: dict[str, str] = {}
        for one in _ordered(self._read(), caller):
            for name, value in one.settings:
                found |= _valid_setting(name, value, {**DEFAULTS, **found})
        return found

    def change(self, change: RoleChange, caller: Caller) -> tuple[Move, ...]:
        """Apply ALTER ROLE, durably; returns the settings that differ now.

        Raises:
            NotGranted: the role is another one than the caller, who is no administrator.
            UndefinedObject, FixedSetting, InvalidParameter: as SET.
        """
        role = caller.user if change.own else EVERYBODY if change.role is None else change.role.text
        at = 0 if change.role is None else change.role.position
        if role != caller.user and not caller.is_admin:
            raise NotGranted(
                "the settings of another role are for administrators",
                hint=f"ALTER ROLE {identifier(caller.user)} SET dp.epsilon = 0.1; changes your own.",
                position=at,
            )
        database = "" if change.database is None else change.database.text
        if database and database != caller.database:
            raise UnknownDatabase(
                f'database "{database}" is not the one of this connection',
                hint="Connect to it, and say it there.",
                position=change.database.position if change.database else None,
            )
        with disk.lock(self._folder):
            before = entries = self._read()
            own = None if caller.is_admin else self.of(caller)
            asked = [RoleDefaults(role, database, (), is_user) for is_user in _name_spaces(change, caller)]
            for one in asked:
                entries = _with(entries, one, change, own)
            if len(entries) > MOST:
                raise InvalidParameter(
                    f"more than {MOST} roles have settings", hint="RESET ALL those that have gone."
                )
            self._write(sorted(entries, key=lambda one: (one.role, one.database, one.is_user)))
        return tuple(dict.fromkeys(move for one in asked for move in _moves(before, entries, one)))

    def _read(self) -> list[RoleDefaults]:
        try:
            held = json.loads(self._path.read_text(encoding="utf-8"))
            return [_entry(one) for one in held]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise CatalogueUnavailable("the settings of roles cannot be read") from error

    def _write(self, entries: list[RoleDefaults]) -> None:
        held = [
            {"role": one.role, "database": one.database, "settings": one.settings, "user": one.is_user}
            for one in entries
        ]
        disk.replace(self._path, json.dumps(held, indent=1).encode())


def _entry(held: Mapping[str, Any]) -> RoleDefaults:
    settings = tuple((str(n), str(v)) for n, v in held["settings"])
    return RoleDefaults(held["role"], held["database"], settings, bool(held["user"]))


def _name_spaces(change: RoleChange, caller: Caller) -> Collection[bool]:
    """Whose settings change: of the role that has the name, of the user, or of both."""
    if not change.own and change.role is None:
        return (False,)
    return (True,) if change.own or change.is_user or not caller.is_admin else (False, True)


def _with(
    entries: list[RoleDefaults], asked: RoleDefaults, change: RoleChange, own: Settings | None
) -> list[RoleDefaults]:
    """The entries after a change of one of them."""
    after = _changed(_held(entries, asked), change, own)
    kept = [one for one in entries if replace(one, settings=()) != asked]
    return [*kept, replace(asked, settings=tuple(after.items()))] if after else kept


def _held(entries: list[RoleDefaults], asked: RoleDefaults) -> dict[str, str]:
    return next((dict(one.settings) for one in entries if replace(one, settings=()) == asked), {})


def _moves(before: list[RoleDefaults], after: list[RoleDefaults], asked: RoleDefaults) -> Iterator[Move]:
    old, new = _held(before, asked), _held(after, asked)
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield Move(name, old.get(name), new.get(name))


def _rank(one: RoleDefaults, caller: Caller) -> int | None:
    """The later wins: everybody's, those of the caller's roles, their own; None where it is not the caller's."""
    if one.is_user:
        return 2 if one.role == caller.user else None
    return 0 if one.role == EVERYBODY else 1 if one.role in caller.roles else None


def _ordered(entries: list[RoleDefaults], caller: Caller) -> list[RoleDefaults]:
    """Those of the caller, the later wins; in all databases, then in this one."""
    ranked = [(rank, one) for one in entries if (rank := _rank(one, caller)) is not None]
    here = [(rank, one) for rank, one in ranked if one.database in ("", caller.database)]
    return [one for _, one in sorted(here, key=lambda each: (each[1].database != "", each[0], each[1].role))]


def _valid_setting(name: str, value: str, current: Settings) -> dict[str, str]:
    try:
        setting = find(name)
        key = setting.name.lower()
        return {key: normalise(name, value, {**DEFAULTS, **current})}
    except Refusal:
        return {}  # a limit that another role has lower, or what another version knew


def _changed(before: Mapping[str, str], change: RoleChange, own: Settings | None) -> dict[str, str]:
    """The settings afterwards; ``own`` is what the caller starts with now, None for an administrator."""
    if change.setting is None:
        return {name: value for name, value in before.items() if own is not None and _only_goes_down(name)}
    setting = find(change.setting.text, position=change.setting.position)
    key = setting.name.lower()
    if change.value is None:
        if own is not None and setting.lowers_only and key in before:
            _refuse_rise(setting.name)
        return {name: value for name, value in before.items() if name != key}
    current = {**DEFAULTS, **(own or {})}
    return {**before, key: normalise(setting.name, change.value, current)}


def _only_goes_down(name: str) -> bool:
    return name in SETTINGS and SETTINGS[name].lowers_only


def _refuse_rise(name: str) -> NoReturn:
    raise InvalidParameter(
        f'parameter "{name}" can only be lowered',
        hint=f"An administrator can reset it: ALTER ROLE ALL RESET {name};",
    )
