"""What a catalogue statement may be made of: node classes of the parser, by exact class; the rest is refused."""

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.spoken import construct
from dpproxy.values.errors import TooComplex, Unsupported

MAX_NODES = 20_000

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
    exp.Min, exp.Nullif, exp.RegexpReplace, exp.Replace, exp.Reverse, exp.Right, exp.Round, exp.RowNumber,
    exp.SessionUser, exp.Sign, exp.SplitPart, exp.StartsWith, exp.StringToArray, exp.StrPosition, exp.Substring,
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
