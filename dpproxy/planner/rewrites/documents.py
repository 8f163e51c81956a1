"""Fields of JSON documents as the columns that they are declared as, whichever of its spellings a statement has."""

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.titles import TITLE, UNNAMED, type_name
from dpproxy.planner.access import table_name
from dpproxy.policy.documents import TYPES, JsonField, declared_fields, field_of, path_of, type_of, unnamed
from dpproxy.policy.model import Policy

_TEXTS = (exp.JSONExtractScalar, exp.JSONBExtractScalar)
_FUNCTION = "jsonb_extract_path_text"
_PATHS = (exp.JSONBExtract, exp.JSONBExtractScalar)
_OVER = (exp.Window, exp.IgnoreNulls, exp.RespectNulls)
_FIELDS = (*_TEXTS, exp.JSONExtract, exp.JSONBExtract)


def with_fields(tree: exp.Expr) -> exp.Expr:
    """The tree with a column in the place of each text at a path of keys in a column.

    Raises:
        Unsupported: a path that no column can be called after.
    """
    if not any(map(_is_text, tree.find_all(*_TEXTS, exp.Anonymous))):
        return tree
    tree = tree.copy()  # what is refused is said of the statement as it was written
    for node in list(filter(_is_text, tree.find_all(*_TEXTS, exp.Anonymous))):
        found = _path(node)
        if found is None:
            continue
        column, keys = found
        field = JsonField(column.name, keys)
        if not field.is_named:
            raise unnamed(position(node))
        made = column.copy()
        made.this.set("this", field.name)
        made.this.args["quoted"] = True
        made.meta[TITLE] = _FUNCTION if isinstance(node, exp.Anonymous) else UNNAMED
        node.replace(made)
    return tree


def _is_text(node: exp.Expr) -> bool:
    """Whether it reads a text of a document, by an operator or by the function that does the same, without OVER."""
    if isinstance(node.parent, _OVER):
        return False
    return isinstance(node, _TEXTS) or (node.name.lower() == _FUNCTION and len(node.expressions) > 1)


def _path(node: exp.Expr) -> tuple[exp.Column, tuple[str, ...]] | None:
    """The column, and the keys that are read one inside of the other; None where one is no constant."""
    node = node.unnest()
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        return node, ()
    if isinstance(node, exp.Anonymous) and _is_text(node):
        found, further = _path(node.expressions[0]), node.expressions[1:]
        are_texts = all(isinstance(e, exp.Literal) and e.is_string for e in further)
        return (
            (found[0], (*found[1], *(e.name for e in further))) if found is not None and are_texts else None
        )
    found = _path(node.this) if isinstance(node, _FIELDS) else None
    keys = _keys(node) if found is not None else None
    return None if found is None or keys is None else (found[0], (*found[1], *keys))


def _keys(node: exp.Expr) -> tuple[str, ...] | None:
    """The keys that one operator reads; None where they are not all texts."""
    path = node.expression
    if isinstance(node, _PATHS):
        return path_of(path.name) if isinstance(path, exp.Literal) and path.is_string else None
    keys = path.expressions[1:] if isinstance(path, exp.JSONPath) else []
    are_texts = all(isinstance(key, exp.JSONPathKey) and isinstance(key.this, str) for key in keys)
    return tuple(str(key.this) for key in keys) if keys and are_texts else None


def with_casts(tree: exp.Expr, policy: Policy) -> exp.Expr:
    """The tree with the casts of fields that are declared as columns, of this type or of another one."""
    if not any(map(_cast_field, tree.find_all(exp.Cast))):
        return tree
    declared = {name: {f.name for f in declared_fields(table)} for name, table in policy.tables.items()}
    if not any(declared.values()):
        return tree
    tree = tree.copy()  # what is refused is said of the statement as it was written
    tables = list(tree.find_all(exp.Table))
    for node in list(tree.find_all(exp.Cast)):
        field = _cast_field(node)
        if field is None:
            continue
        own, column = type_of(_written(node)), node.this.unnest()
        kinds = dict.fromkeys((own, None, *TYPES))  # the text itself is cast where that is what is declared
        near = [table_name(t) for t in tables if column.table in ("", t.alias_or_name)]
        names = [declared.get(name, set()) for name in near] + list(
            declared.values()
        )  # those of views are further off
        made = [replace(field, type=kind) for kind in kinds]
        found = next((f for held in names for f in made if f.name in held), None)
        if found is not None:
            column.this.set("this", found.name)
            column.meta[TITLE] = type_name(node.to)
            if own is not None and found.type == own:
                node.replace(column)
    return tree


def _cast_field(node: exp.Cast) -> JsonField | None:
    """The field whose text is cast."""
    column = node.this.unnest()
    is_field = isinstance(column, exp.Column) and TITLE in column.meta
    return field_of(column.name) if is_field else None


def _written(node: exp.Cast) -> str:
    """The type without parameters, as PostgreSQL spells it; with some, it is another."""
    return "" if node.to.expressions else str(node.to.sql("postgres")).lower().replace("decimal", "numeric")
