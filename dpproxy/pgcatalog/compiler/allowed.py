"""The constructs that a catalogue statement may consist of, by exact class of the parser's nodes; others are refused.

Texts that replacements would make very long are refused, too: the engine computes a text whole before it checks its
memory, or an interrupt.
"""

from math import prod

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.spoken import construct
from dpproxy.values.errors import TooComplex, Unsupported

MAX_NODES = 20_000
MOST_TEXT = 10_000_000
"""Characters that replacements may make of the longest text of a statement, all of them together."""
_UNKNOWN = 1000
"""Characters of what is no literal."""
_REPLACING = frozenset({"replace", "regexp_replace"})

_STRUCTURE = (
    exp.Alias, exp.Column, exp.CTE, exp.Distinct, exp.Dot, exp.Except, exp.From, exp.Group,
    exp.Having, exp.Identifier, exp.Intersect, exp.Join, exp.Lateral, exp.Limit, exp.Offset, exp.Order,
    exp.Ordered, exp.Select, exp.Star, exp.Subquery, exp.Table, exp.TableAlias, exp.Tuple, exp.Union,
    exp.Unnest, exp.Values, exp.Where, exp.With,
)  # fmt: skip
_VALUES = (
    exp.Array, exp.Boolean, exp.Bracket, exp.ByteString, exp.Case, exp.Cast, exp.Collate, exp.DataType,
    exp.DataTypeParam, exp.If, exp.Literal, exp.Null, exp.ObjectIdentifier, exp.Parameter, exp.Paren,
    exp.Slice, exp.Var,
)  # fmt: skip
_OPERATORS = (
    exp.Add, exp.All, exp.And, exp.Any, exp.Between, exp.Div, exp.DPipe, exp.EQ, exp.Escape, exp.Exists,
    exp.GT, exp.GTE, exp.ILike, exp.In, exp.Is, exp.Like, exp.LT, exp.LTE, exp.Mod, exp.Mul, exp.Neg,
    exp.NEQ, exp.Not, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Operator, exp.Or, exp.RegexpILike,
    exp.RegexpLike, exp.Sub, exp.BitwiseAnd, exp.BitwiseOr, exp.ArrayContainsAll, exp.ArrayContainedBy,
    exp.ArrayOverlaps, exp.AtTimeZone, exp.Interval, exp.Pow, exp.SimilarTo, exp.Var,
)  # fmt: skip
_FUNCTIONS = (
    exp.Abs, exp.Anonymous, exp.ArrayAgg, exp.ArrayAppend, exp.ArrayConcat, exp.ArrayPosition, exp.ArrayPrepend,
    exp.ArrayRemove, exp.ArraySize, exp.ArrayToString, exp.StringToArray, exp.Avg, exp.Ceil, exp.Chr, exp.Coalesce,
    exp.Concat, exp.ConcatWs, exp.Count, exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentDate,
    exp.CurrentSchema, exp.CurrentSchemas, exp.CurrentTimestamp, exp.CurrentUser, exp.CurrentVersion,
    exp.Encode, exp.Explode, exp.ExplodingGenerateSeries, exp.Extract, exp.Filter, exp.Floor, exp.Format,
    exp.GenerateSeries, exp.Greatest, exp.GroupConcat, exp.Least, exp.Left,
    exp.Length, exp.Localtimestamp, exp.LogicalAnd, exp.LogicalOr, exp.Lower, exp.Max,
    exp.Min, exp.Nullif, exp.RegexpExtract, exp.RegexpReplace, exp.Replace, exp.Reverse, exp.Right, exp.Round,
    exp.RowNumber, exp.SessionUser, exp.Sign, exp.SplitPart, exp.StartsWith, exp.StrPosition, exp.Substring,
    exp.Sum, exp.TimestampTrunc, exp.TimeToStr, exp.Translate, exp.Trim, exp.Upper, exp.Window, exp.WindowSpec,
)  # fmt: skip

NODES: frozenset[type[exp.Expr]] = frozenset((*_STRUCTURE, *_VALUES, *_OPERATORS, *_FUNCTIONS))


def check(tree: exp.Expr) -> None:
    """Refuse every node class that is not on the list, and trees that are too large.

    Raises:
        Unsupported: names the construct.
        TooComplex: more than `MAX_NODES` nodes.
    """
    for count, node in enumerate(tree.walk()):
        if count > MAX_NODES:
            raise TooComplex("the statement is too long")
        if type(node) not in NODES:
            raise Unsupported(
                f"{construct(node)} is not supported in a statement about the catalogue",
                position=position(node),
            )


def check_growth(tree: exp.Expr) -> None:
    """Refuse replacements that can make a very long text, inside of each other or one after another.

    Raises:
        TooComplex: they can.
    """
    found = [(node, factor) for node in tree.walk() if (factor := _factor(node)) > 1]
    longest = max((len(node.name) for node in tree.find_all(exp.Literal) if node.is_string), default=0)
    if found and prod(factor for _, factor in found) * max(longest, _UNKNOWN) > MOST_TEXT:
        node, _ = max(found, key=lambda one: one[1])
        raise TooComplex("replacements make a text too long", position=position(node))


def _factor(node: exp.Expr) -> int:
    """So many times longer a text gets at most by one call."""
    match node:
        case exp.Replace(this=_, expression=exp.Literal(name=old)):
            return -(-_length(node.args.get("replacement")) // max(1, len(old)))
        case exp.Replace() | exp.RegexpReplace():
            return _length(node.args.get("replacement"))
        case exp.Anonymous(expressions=[_, _, new, *_]) if node.name.lower() in _REPLACING:
            return _length(new)
        case exp.ConcatWs(expressions=parts):
            return len(parts)
        case exp.Anonymous(expressions=parts) if node.name.lower() == "concat_ws":
            return len(parts)
        case _:
            return 1


def _length(node: exp.Expr | None) -> int:
    if node is None:
        return 0
    return len(node.name) if isinstance(node, exp.Literal) else _UNKNOWN
