"""What sessions of a role start with: a small file of the state directory, read anew at each login."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from dpproxy import disk
from dpproxy.errors import CatalogueUnavailable, InvalidParameter, NotGranted, Refusal, UnknownDatabase
from dpproxy.plan import Caller, Settings
from dpproxy.policy.role_statements import RoleChange
from dpproxy.settings import DEFAULTS, SETTINGS, checked, find

FILE: Final = "roles.json"
MOST: Final = 10_000
"""Entries of the file."""
EVERYBODY: Final = ""
"""The role of ALTER ROLE ALL."""


@dataclass(frozen=True, slots=True)
class Configured:
    """The settings of one role, in one database or, for an empty name, in all; in the order they were made."""

    role: str
    database: str
    settings: tuple[tuple[str, str], ...]

    @property
    def shown(self) -> list[str]:
        """As pg_db_role_setting lists them."""
        return [f"{find(name).name}={value}" for name, value in self.settings]


class RoleSettings:
    """The settings of all roles; may be used by several processes.

    A role is a user's name, or one that users have: settings of a role that a user has come before the user's own.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FILE

    def listed(self, caller: Caller) -> tuple[Configured, ...]:
        """What the caller may see: their own, and those of their roles; an administrator sees all."""
        seen = _names(caller)
        return tuple(one for one in self._read() if caller.is_admin or one.role in seen)

    def of(self, caller: Caller) -> Settings:
        """What a session of the caller starts with, by lower-case name; of what only goes down, the least.

        A setting that is no longer known, or takes the value no longer, is left out.
        """
        found: dict[str, str] = {}
        for one in _ordered(self._read(), caller):
            for name, value in one.settings:
                found |= _taken(name, value, {**DEFAULTS, **found})
        return found

    def change(self, change: RoleChange, caller: Caller) -> None:
        """Do what the statement says; it is on the disk when this returns.

        Raises:
            NotGranted: the role is another one than the caller, who is no administrator.
            UndefinedObject, FixedSetting, InvalidParameter: as SET.
        """
        role = caller.user if change.own else EVERYBODY if change.role is None else change.role.text
        at = 0 if change.role is None else change.role.position
        if role != caller.user and not caller.is_admin:
            raise NotGranted(
                "the settings of another role are for administrators",
                hint=f'ALTER ROLE "{caller.user}" SET ... changes your own.',
                position=at,
            )
        database = "" if change.database is None else change.database.text
        if database and database != caller.database:
            raise UnknownDatabase(
                f'database "{database}" is not the one of this connection',
                hint="Connect to it, and say it there.",
                position=change.database.position if change.database else None,
            )
        with disk.locked(self._folder):
            entries = self._read()
            kept = [one for one in entries if (one.role, one.database) != (role, database)]
            before = next((dict(one.settings) for one in entries if one not in kept), {})
            after = _changed(before, change, None if caller.is_admin else self.of(caller))
            if after:
                kept.append(Configured(role, database, tuple(after.items())))
            if len(kept) > MOST:
                raise InvalidParameter(
                    f"more than {MOST} roles have settings", hint="RESET ALL those that have gone."
                )
            self._write(sorted(kept, key=lambda one: (one.role, one.database)))

    def _read(self) -> list[Configured]:
        try:
            held = json.loads(self._path.read_text(encoding="utf-8"))
            return [
                Configured(one["role"], one["database"], tuple((str(n), str(v)) for n, v in one["settings"]))
                for one in held
            ]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise CatalogueUnavailable("the settings of roles cannot be read") from error

    def _write(self, entries: list[Configured]) -> None:
        held = [{"role": one.role, "database": one.database, "settings": one.settings} for one in entries]
        disk.replace(self._path, json.dumps(held, indent=1).encode())


def _names(caller: Caller) -> Collection[str]:
    return {EVERYBODY, caller.user, *caller.roles}


def _ordered(entries: list[Configured], caller: Caller) -> list[Configured]:
    """The later wins: everybody's, those of the caller's roles, their own; in all databases, then in this one."""
    rank = dict.fromkeys(caller.roles, 1) | {EVERYBODY: 0, caller.user: 2}
    here = [one for one in entries if one.role in rank and one.database in ("", caller.database)]
    return sorted(here, key=lambda one: (one.database != "", rank[one.role], one.role))


def _taken(name: str, value: str, current: Settings) -> dict[str, str]:
    try:
        setting = find(name)
        key = setting.name.lower()
        return {key: checked(name, value, {**DEFAULTS, **current})}
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
    return {**before, key: checked(setting.name, change.value, current)}


def _only_goes_down(name: str) -> bool:
    return name in SETTINGS and SETTINGS[name].lowers_only


def _refuse_rise(name: str) -> NoReturn:
    raise InvalidParameter(
        f'parameter "{name}" can only be lowered', hint="An administrator can reset it: ALTER ROLE ... RESET."
    )
