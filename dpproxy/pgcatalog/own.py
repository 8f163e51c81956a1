"""Which statements are the catalogue's: those that read its relations, or have a construct that nothing else has.

All others are compiled as those over released rows, whether they have a FROM or not.
"""

from sqlglot import exp

from dpproxy.pgcatalog.compiler.calls import NAMES, SPOKEN
from dpproxy.pgcatalog.compiler.scopes import reads_relations

_OWN = (
    exp.All, exp.Any, exp.Array, exp.ArrayAppend, exp.ArrayConcat, exp.ArrayContainedBy, exp.ArrayContainsAll,
    exp.ArrayOverlaps, exp.ArrayPosition, exp.ArrayPrepend, exp.ArrayRemove, exp.ArraySize, exp.ArrayToString,
    exp.Bracket, exp.Collate, exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentSchema, exp.CurrentSchemas,
    exp.CurrentUser, exp.CurrentVersion, exp.Encode, exp.Explode, exp.Format, exp.GenerateSeries,
    exp.Operator, exp.SessionUser, exp.SimilarTo, exp.StringToArray,
)  # fmt: skip
"""Constructs without FROM that are answered beside the catalogue alone: lists, numbers of objects, whose session it is,
operators by their schema, and what tools write SQL with."""
_TYPES = frozenset({
    exp.DType.BPCHAR, exp.DType.CHAR, exp.DType.INET, exp.DType.JSONB, exp.DType.NAME, exp.DType.USERDEFINED,
    exp.DType.VARBINARY,
})  # fmt: skip
"""Types that columns of the catalogue have, and no others here; and bytes, which nothing else computes with."""


def is_about_catalogue(tree: exp.Expr) -> bool:
    """Whether a statement whose relations are all the catalogue's reads one, or has a construct of its own."""
    return reads_relations(tree) or any(_is_own_construct(node) for node in tree.walk())


def _is_own_construct(node: exp.Expr) -> bool:
    match node:
        case exp.Anonymous():
            return node.name.lower() in NAMES
        case exp.ExplodingGenerateSeries():
            return not isinstance(node.parent, exp.Table)
        case exp.ObjectIdentifier() | exp.PseudoType():
            return True
        case exp.DataType():
            return node.this in _TYPES or node.this == exp.DType.ARRAY
        case exp.Column():
            return not node.table and not node.this.args.get("quoted") and node.name.lower() in SPOKEN
        case _:
            return isinstance(node, _OWN)
