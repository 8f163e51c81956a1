"""Tables without a schema: the schema that the search path finds them in is written before their names."""

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.relations import is_of_with
from dpproxy.config.settings import search_path
from dpproxy.planner.accept import parse
from dpproxy.planner.access import Context, is_known
from dpproxy.planner.rewrites.spellings import as_served
from dpproxy.sql.quoting import identifier


def in_schemas(tree: exp.Expr, context: Context) -> exp.Expr:
    """The tree, each table with the first schema of the path that has one which the caller may know of."""
    tree = as_served(tree, context.schema)
    if not context.schema.places:
        return tree
    path = search_path(context.settings, context.caller.user)
    found = {id(node): _schema(node, path, context) for node in tree.find_all(exp.Table)}
    if any(found.values()):
        tree = tree.copy()  # what is refused is said of the statement as it was written
        nodes = zip(tree.find_all(exp.Table), found.values(), strict=True)
        for node, schema in list(nodes):
            if schema:
                node.set("db", exp.to_identifier(schema, quoted=True))
    return tree


def written_in_schemas(sql: str, context: Context) -> list[tuple[int, str]]:
    """Where in the text of a query which schemas belong, each before a table's name. Raises a ``Refusal``."""
    if not context.schema.places:
        return []
    path = search_path(context.settings, context.caller.user)
    found = ((node.this, _schema(node, path, context)) for node in parse(sql).find_all(exp.Table))
    return sorted((position(name) or 0, f"{identifier(schema)}.") for name, schema in found if schema)


def _schema(node: exp.Table, path: tuple[str, ...], context: Context) -> str | None:
    """The schema that is meant, None where that is public, nobody knows the name, or there is one before it."""
    if node.db or not isinstance(node.this, exp.Identifier) or is_of_with(node):
        return None
    names = {schema: node.name if schema == "public" else f"{schema}.{node.name}" for schema in path}
    found = next((schema for schema, name in names.items() if is_known(name, context)), None)
    return None if found == "public" else found
