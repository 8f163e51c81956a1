"""Policy files: statements ended by semicolons, applied together or not at all; an error names its place."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.policy.apply import apply
from dpproxy.policy.apply_reference import check_public
from dpproxy.policy.difference import Difference, Effect, differences, explanation
from dpproxy.policy.dump import dump
from dpproxy.policy.model import Policy, TablePolicy
from dpproxy.policy.statements import AdvanceDataVersion
from dpproxy.policy.store import PolicyStore, change_of
from dpproxy.sql.lexer import pieces
from dpproxy.values.errors import Refusal, StartupError, SyntaxRefused
from dpproxy.values.pgtypes import Schema


class TextPlace(NamedTuple):
    """A place in a text: line and column from 1, and the line."""

    line: int
    column: int
    text: str


class PolicyFileError(StartupError):
    """A mistake in a policy file; as text it is one line."""

    def __init__(self, path: Path, place: TextPlace, refusal: Refusal) -> None:
        hint = f" ({refusal.hint})" if refusal.hint else ""
        super().__init__(f"{path}:{place.line}:{place.column}: {refusal.message}{hint}")
        self.path = path
        self.place = place
        self.message = refusal.message
        self.hint = refusal.hint
        self.sqlstate = refusal.sqlstate

    @property
    def excerpt(self) -> str:
        """The line and, below it, a caret at the place; tabs kept so that it stands where it should."""
        before = self.place.text[: self.place.column - 1]
        indent = "".join("\t" if character == "\t" else " " for character in before)
        return f"{self.place.text}\n{indent}^"


class PolicyFile(Struct, frozen=True):
    """One file and its text."""

    path: Path
    text: str


def locate(text: str, offset: int) -> TextPlace:
    r"""The place of an offset in characters; an offset past the end counts as the end.

    >>> locate("one\ntwo", 5)
    TextPlace(line=2, column=2, text='two')
    """
    offset = min(offset, len(text))
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : len(text) if end < 0 else end].rstrip("\r")
    return TextPlace(text.count("\n", 0, offset) + 1, offset - start + 1, line)


def read_file(path: Path) -> PolicyFile:
    """A file's text.

    Raises:
        StartupError: cannot be read, or is not UTF-8.
    """
    try:
        return PolicyFile(path, path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise StartupError(f"{path}: {error.strerror or 'cannot be read'}") from error
    except UnicodeDecodeError as error:
        raise StartupError(f"{path}: not UTF-8 at byte {error.start}") from error


def apply_file(policy: Policy, file: PolicyFile, schema: Schema | None) -> Policy:
    """The policy after all statements of one file; without a schema, names and types are taken as they are written.

    Raises:
        PolicyFileError: the first mistake.
    """
    offset = 0
    try:
        for piece in pieces(file.text):
            offset = piece.offset
            change = change_of(piece.text)
            if isinstance(change, AdvanceDataVersion):
                raise SyntaxRefused(
                    "ADVANCE PRIVACY DATA VERSION has no place in a policy file",
                    hint="Files are applied at every start; send it once, when new data was loaded.",
                    position=change.position,
                )
            if schema is None:
                check_public(policy, change)
            policy = apply(policy, change, schema)
    except Refusal as refusal:
        place = locate(file.text, offset + (refusal.position or 0))
        raise PolicyFileError(file.path, place, refusal) from None
    return policy


def apply_files(
    store: PolicyStore,
    paths: Sequence[Path],
    schema: Schema,
    by: str = "policy files",
    *,
    tell: Callable[[str], None] = lambda _: None,
    weakened: str | None = None,
) -> Policy:
    """Apply the files in order as one change of the stored policy; the policy in force afterwards.

    Each change of an existing policy is reported by ``tell``: it may undo what somebody has declared since. Where
    ``weakened`` names a command, changes that would weaken the policy are reported and left out; the command applies
    them.

    Raises:
        StartupError: a file cannot be read; PolicyFileError for a mistake in it. Nothing changed.
    """
    files = [read_file(path) for path in paths]
    store.files = tuple(paths)

    left: list[Difference] = []

    def apply_all(policy: Policy) -> Policy:
        made = policy
        for file in files:
            made = apply_file(made, file, schema)
        if weakened is None or not policy.version:
            return made
        made, left[:] = without_weakening(policy, made)
        return made

    before = store.current
    after = store.update(apply_all, "\n".join(file.text for file in files), by)
    if left:
        tell("the policy files would weaken the policy in force, which stays as it is in this:")
        for line in explanation(left):
            tell(line)
        tell(f"to have it as the files say: {weakened}")
    if before.version and after.version != before.version:
        tell("the policy files change the policy in force:")
        for line in explanation(differences(before, after)):
            tell(line)
    return after


# --- what a change of the files may do by itself


def without_weakening(before: Policy, after: Policy) -> tuple[Policy, list[Difference]]:
    """``after`` without the declarations that weaken ``before``, and the differences that were left out.

    Where the rest is not a valid policy, it is ``before``.
    """
    found = differences(before, after)
    weaker = {d.declared for d in found if d.effect is Effect.WEAKER}
    if not weaker:
        return after, []
    kept = {_together(declared) for declared in weaker}
    left = [d for d in found if _together(d.declared) in kept]
    merged = _merged(before, after, kept)
    is_sound = _stands(merged) and all(d.effect is not Effect.WEAKER for d in differences(before, merged))
    return (merged, left) if is_sound else (before, found)


def _together(declared: tuple[str, ...]) -> tuple[str, ...]:
    """The unit in which a declaration is left out: a column's, all others of a table, or itself."""
    return declared[:3] if declared[0] == "table" else declared


def _merged(before: Policy, after: Policy, kept: set[tuple[str, ...]]) -> Policy:
    def is_kept(kind: str, *names: str) -> bool:
        return (kind, *names) in kept

    tables = {}
    for name in {**before.tables, **after.tables}:
        old, new = (policy.tables.get(name, TablePolicy(name)) for policy in (before, after))
        own = old if is_kept("table", name, "") else new
        columns = {
            column: (old if is_kept("table", name, column) else new).columns.get(column)
            for column in {**old.columns, **new.columns}
        }
        known = {column: one for column, one in columns.items() if one is not None}
        if name in before.tables or own is new or known:
            tables[name] = replace(own, columns=known)
    budgets = {**before.budgets, **after.budgets}
    for name in [n for n in budgets if is_kept("budget", n)]:
        budgets[name] = before.budgets[name]
    grants = tuple(g for g in after.grants if not is_kept("grant", g.table, g.role, g.budget or ""))
    exact = tuple(g for g in after.exact if not is_kept("exact", g.table, g.role))
    views = {name: view for name, view in after.views.items() if not is_kept("view", name)}
    views |= {name: view for name, view in before.views.items() if is_kept("view", name)}
    return replace(after, tables=tables, budgets=budgets, grants=grants, exact=exact, views=views)


def _stands(policy: Policy) -> bool:
    """Whether the policy can be recreated from its statements."""
    made = Policy(version=policy.version, data_version=policy.data_version)
    try:
        for sql in dump(policy):
            made = apply(made, change_of(sql), None)
    except Refusal:
        return False
    return dump(made) == dump(policy)
