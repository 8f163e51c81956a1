"""Tables that a statement of an administrator names without a schema, where the search path means another one.

Such statements follow no search path, as policy files have none: a bare name is a table of ``public``. Where queries
of the same session read a table of another schema by that name, the statement is refused.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import table_text
from dpproxy.values.errors import InvalidParameter
from dpproxy.values.pgtypes import Schema

FIELDS = ("table", "tables", "references", "target")
"""Of statements: what names tables; of the last two the first name is one, and columns follow."""


def check_bare(statement: Struct, sql: str, path: Sequence[str], schema: Schema) -> None:
    """Refuse a name that the search path finds in another schema first. Raises ``InvalidParameter``."""
    if not schema.places:
        return
    for name in _tables(statement):
        if name.position is None or sql[: name.position].rstrip().endswith("."):
            continue
        known = schema.tables.keys() | schema.views.keys()
        names = [name.text if one == "public" else f"{one}.{name.text}" for one in path]
        found = next((one for one in names if one in known), name.text)
        if found != name.text and name.text in known:
            raise InvalidParameter(
                f'table "{name.text}" is in several schemas: statements of administrators follow no search_path',
                hint=f"Write {table_text(found)} or public.{table_text(name.text)}.",
                position=name.position,
            )


def _tables(statement: Struct) -> Iterator[Name]:
    for field in FIELDS:
        held = getattr(statement, field, None)
        first = held[0] if isinstance(held, tuple) and held and field != "tables" else held
        yield from (n for n in (first if isinstance(first, tuple) else (first,)) if isinstance(n, Name))
