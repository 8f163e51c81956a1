"""Names in quotes as the engine of the data spells them, where they are served in small letters."""

from sqlglot import exp

from dpproxy.values.pgtypes import Schema


def as_served(tree: exp.Expr, schema: Schema) -> exp.Expr:
    """The tree with the names that are served; what the statement names itself means that, however it is spelled.

    A column of the answer keeps the spelling that was asked for.
    """
    if not schema.spellings:
        return tree
    names = [n for n in tree.find_all(exp.Identifier) if n.args.get("quoted") and n.name in schema.spellings]
    own = {n.name for n in names if n.arg_key == "alias" or isinstance(n.parent, exp.TableAlias)}
    if all(n.name in own for n in names):
        return tree
    tree = tree.copy()  # what is refused is said of the statement as it was written
    for node in list(tree.expressions) if isinstance(tree, exp.Select) else ():
        if (
            isinstance(node, exp.Column)
            and not isinstance(node.this, exp.Star)
            and node.name in schema.spellings
        ):
            node.replace(exp.Alias(this=node.copy(), alias=exp.to_identifier(node.name, quoted=True)))
    for node in list(tree.find_all(exp.Identifier)):
        is_name = node.arg_key != "alias" and not isinstance(node.parent, exp.TableAlias)
        if is_name and node.args.get("quoted") and node.name not in own:
            node.set("this", schema.spellings.get(node.name, node.name))
    return tree
