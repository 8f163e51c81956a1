"""Protected views as declarations: name, query and options. The engine builds them.

CREATE PROTECTED VIEW replaces the definition of an existing view, so that policy files can be applied repeatedly; with
the same definition, its build stays.
"""

from msgspec.structs import replace

from dpproxy.policy.model import CUBE_METHOD, Policy, ProtectedView
from dpproxy.policy.statements import CreateView, DropView, Option, ViewDeclaration
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import InvalidParameter, UndefinedObject, UndefinedTable
from dpproxy.values.pgtypes import Schema

LONGEST_NAME = 63


def change_view(policy: Policy, change: ViewDeclaration, schema: Schema | None) -> Policy:
    """The policy with a view's definition added, replaced, or dropped together with the grants on it."""
    match change:
        case CreateView():
            _free(change.name, policy, schema)
            found = definition(change)
            _budget(policy, change)
            return replace(policy, views={**policy.views, found.name: found})
        case DropView():
            known_view(policy, change.name, change.kind)
            kept = {name: view for name, view in policy.views.items() if name != change.name.text}
            grants = tuple(grant for grant in policy.grants if grant.table != change.name.text)
            return replace(policy, views=kept, grants=grants)


def definition(change: CreateView) -> ProtectedView:
    """What a statement declares. Raises ``InvalidParameter`` without a method."""
    options = tuple(sorted((option.name.text, option.value) for option in change.options))
    if not isinstance(dict(options).get("method"), str):
        raise InvalidParameter(
            f'protected view "{change.name.text}" has no method',
            hint=f"CREATE PROTECTED VIEW {identifier(change.name.text)} "
            f"WITH (method = dp_kdtree, epsilon = 1) AS {change.query};",
            position=change.name.position,
        )
    found = ProtectedView(change.name.text, options, change.query)
    if found.kind != change.kind:
        raise InvalidParameter(
            f"{CUBE_METHOD} makes no rows of a query",
            hint="CREATE PRIVACY CUBE c ON t (x, y) MEASURES (count(*)) WITH (epsilon = 1);",
            position=change.name.position,
        )
    return found


def known_view(policy: Policy, name: Name, kind: str) -> ProtectedView:
    """The view or cube of a name. Raises ``UndefinedTable``; one of the other kind is none."""
    found = policy.views.get(name.text)
    if found is not None and found.kind != kind:
        raise UndefinedTable(
            f'"{name.text}" is a {found.kind}', hint=f"Write {found.kind.upper()}.", position=name.position
        )
    if found is None:
        raise UndefinedTable(
            f'{kind} "{name.text}" does not exist',
            hint="SHOW PRIVACY VIEWS lists those there are.",
            position=name.position,
        )
    return found


def _free(name: Name, policy: Policy, schema: Schema | None) -> None:
    taken = schema is not None and (name.text in schema.tables or name.text in schema.views)
    if taken or name.text in policy.tables:
        raise InvalidParameter(
            f'"{name.text}" is the name of a table or a view of the data source',
            hint="Choose another name.",
            position=name.position,
        )
    if len(name.text) > LONGEST_NAME:
        raise InvalidParameter(f"a view's name has at most {LONGEST_NAME} characters", position=name.position)


def _budget(policy: Policy, change: CreateView) -> None:
    """``charge = BUDGET`` names one that exists."""
    option: Option | None = next((o for o in change.options if o.name.text == "charge"), None)
    if option is not None and option.value not in policy.budgets:
        raise UndefinedObject(
            "charge names no budget",
            hint="SHOW PRIVACY BUDGETS; lists those there are. The ceiling is always charged.",
            position=option.position,
        )
