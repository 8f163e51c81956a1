"""The functions of values, by allow-list: each line says why no row can make it fail."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis import bins, instants, numbers, open_functions, patterns, texts
from dpproxy.analysis.open_functions import bits, character, joined, of_texts
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed, as_double, inexact
from dpproxy.values.errors import Unsupported
from dpproxy.values.pgtypes import FLOAT8, NUMERIC

Rule = Callable[[Any, list[Typed], Scope], Typed]


class RowFunction(Struct, frozen=True):
    """One allowed function; ``reason`` says why it is total (no argument makes it raise).

    ``places`` are the arguments' names in the tree, in the order the rule takes them; a missing one is left out.
    """

    rule: Rule
    reason: str
    places: tuple[str, ...] = ("this",)
    words: tuple[str, ...] = ()
    """What else may stand in the tree: names of fields, and marks of the parser, which are no expressions."""
    of_double: bool = False
    """PostgreSQL has it of numeric and of double precision: one integer alone is taken as the latter."""
    only_open: str = ""
    """Its name, where it stands only over what is public: nobody has shown that no row of people makes it fail."""

    def __call__(self, node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        if self.only_open and scope.level is ExpressionLevel.ROW:
            raise Unsupported(
                f"{self.only_open} is not computed of rows of people",
                hint="Compare with =, IN or LIKE. It is answered over public tables and released values.",
            )
        return self.rule(node, arguments, scope)

    @property
    def allowed(self) -> frozenset[str]:
        """What a call may have in the tree."""
        return frozenset((*self.places, *self.words))

    def arguments(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The argument expressions of a call."""
        for place in self.places:
            found = node.args.get(place)
            if isinstance(found, list):
                yield from found
            elif found is not None:
                yield found


def _open(
    name: str, rule: Rule, places: tuple[str, ...] = ("this",), words: tuple[str, ...] = ()
) -> RowFunction:
    return RowFunction(rule, "refused beside rows of people", places, words, only_open=name)


_TWO = ("this", "expression")
_MATCHED = "total on text, of a constant pattern, in so many steps a character as it has states"
_EXACT = "of exact numbers in 128 bits, or DOUBLE to DOUBLE"

FUNCTIONS: dict[type[exp.Expr], RowFunction] = {
    exp.Abs: RowFunction(numbers.absolute, "of HUGEINT or DOUBLE; the least HUGEINT is outside every bound"),
    exp.Sign: RowFunction(numbers.sign, "every number has a sign", of_double=True),
    exp.Floor: RowFunction(numbers.whole("floor"), _EXACT, ("this", "decimals"), of_double=True),
    exp.Ceil: RowFunction(numbers.whole("ceil"), _EXACT, ("this", "decimals"), of_double=True),
    exp.Round: RowFunction(
        numbers.rounding,
        "of exact numbers in 128 bits; of DOUBLE with a constant number of digits",
        ("this", "decimals"),
        of_double=True,
    ),
    exp.Trunc: RowFunction(numbers.truncation, _EXACT, ("this", "decimals"), of_double=True),
    exp.Sqrt: RowFunction(
        numbers.root, "DOUBLE to DOUBLE; NaN below zero, which counts as above the upper bound"
    ),
    exp.Ln: RowFunction(
        numbers.logarithm,
        "DOUBLE to DOUBLE; -infinity at zero and NaN below, which the argument's clamp removes",
    ),
    exp.Log: RowFunction(
        numbers.common_logarithm,
        "DOUBLE to DOUBLE; -infinity at zero and NaN below, which the argument's clamp removes",
        ("this", "expression"),
    ),
    exp.Exp: RowFunction(
        numbers.exponential, "DOUBLE overflow is infinity, which the argument's clamp removes"
    ),
    exp.Pow: RowFunction(
        numbers.power,
        "DOUBLE to DOUBLE with a constant exponent; infinity at a pole, NaN for the root of a negative number",
        ("this", "expression"),
    ),
    exp.Degrees: RowFunction(numbers.scaled_angle(180 / math.pi), "a DOUBLE product"),
    exp.Radians: RowFunction(numbers.scaled_angle(math.pi / 180), "a DOUBLE product"),
    exp.WidthBucket: RowFunction(
        numbers.width_bucket,
        "comparisons with constants; whole numbers inside 128 bits by the bounds, or a clamped DOUBLE",
        ("this", "min_value", "max_value", "num_buckets"),
    ),
    exp.Lower: RowFunction(texts.case_mapped("lower"), "total on text"),
    exp.Upper: RowFunction(texts.case_mapped("upper"), "total on text"),
    exp.Trim: RowFunction(
        texts.trim, "total on text, of constant characters", ("this", "expression"), words=("position",)
    ),
    exp.Length: RowFunction(texts.length, "total on text"),
    exp.Substring: RowFunction(
        texts.substring, "total on text, constant places from 1 on", ("this", "start", "length")
    ),
    exp.Left: RowFunction(texts.end_of("left"), "total on text, a constant number", ("this", "expression")),
    exp.Right: RowFunction(texts.end_of("right"), "total on text, a constant number", ("this", "expression")),
    exp.StrPosition: RowFunction(texts.find, "total on text", ("this", "substr")),
    exp.StartsWith: RowFunction(texts.starts_with, "total on text", ("this", "expression")),
    exp.Replace: RowFunction(
        texts.replaced,
        "total on text; the result is bounded by the declared lengths",
        ("this", "expression", "replacement"),
    ),
    exp.Concat: RowFunction(
        texts.concatenated,
        "total on text; the result is bounded by the declared lengths",
        ("expressions",),
        ("safe", "coalesce"),
    ),
    exp.Translate: RowFunction(
        texts.translated, "total on text; the result is no longer", ("this", "from_", "to")
    ),
    exp.SplitPart: RowFunction(
        texts.split_part,
        "total on text; a constant place that is not 0",
        ("this", "delimiter", "part_index"),
    ),
    exp.Extract: RowFunction(
        instants.extract,
        "of a finite date in the years 1 to 9999, by the declared bounds",
        ("expression",),
        ("this",),
    ),
    exp.DateBin: RowFunction(
        bins.date_bin,
        "of a finite date, to bins that begin after the first date",
        ("expression",),
        ("this", "unit"),
    ),
    exp.TimeToStr: RowFunction(bins.to_char, "digits of fields of a finite date", words=("format",)),
    exp.Reverse: RowFunction(open_functions.backwards, "total on text"),
    exp.ConcatWs: RowFunction(
        joined,
        "total on text; the result is bounded by the declared lengths",
        ("expressions",),
        ("safe", "coalesce"),
    ),
    exp.Chr: _open("chr", character, ("expressions",), ("charset",)),
    exp.BitwiseAnd: _open("&", bits, ("this", "expression")),
    exp.BitwiseOr: _open("|", bits, ("this", "expression")),
    exp.RegexpLike: RowFunction(patterns.matches, _MATCHED, _TWO),
    exp.RegexpILike: RowFunction(patterns.matches, _MATCHED, _TWO),
    exp.RegexpReplace: RowFunction(
        patterns.replaced,
        f"{_MATCHED}; the result is bounded by the declared lengths",
        ("this", "expression", "replacement", "modifiers"),
        ("single_replace",),
    ),
    exp.RegexpExtract: RowFunction(patterns.part, _MATCHED, ("this", "expression", "parameters"), ("group",)),
    exp.RegexpSubstr: RowFunction(patterns.part, _MATCHED, _TWO),
    exp.BitwiseXor: _open("#", open_functions.exclusive, _TWO),
    exp.BitwiseNot: _open("~", open_functions.opposite),
    **{
        kind: _open(name, open_functions.of_doubles(name))
        for kind, name in (
            (exp.Cbrt, "cbrt"),
            (exp.Sin, "sin"),
            (exp.Cos, "cos"),
            (exp.Tan, "tan"),
            (exp.Atan, "atan"),
        )
    },
    exp.Atan2: _open("atan2", open_functions.of_doubles("atan2"), _TWO),
    exp.Pi: _open("pi", open_functions.pi, ()),
    exp.BitLength: _open("bit_length", open_functions.counted("strlen", 8)),
    exp.Ascii: RowFunction(open_functions.counted("ascii"), "total on text"),
    exp.MD5: _open("md5", of_texts("md5")),
    exp.Repeat: RowFunction(
        open_functions.repeated,
        "total on text; the result is bounded by the declared length",
        ("this", "times"),
    ),
    exp.Pad: RowFunction(
        open_functions.padded,
        "total on text; a constant length, and characters to fill it with",
        ("this", "expression", "fill_pattern"),
        ("is_left",),
    ),
    exp.Initcap: RowFunction(
        open_functions.capitalized, "total on text; as long as it", words=("expression",)
    ),
    exp.TimestampTrunc: RowFunction(
        instants.truncate,
        "of a finite date, to a constant unit that does not begin before the year 1",
        words=("unit", "zone"),
    ),
}


def as_postgres(node: exp.Expr, function: RowFunction, arguments: list[Typed], value: Typed) -> Typed:
    """The value in the type that PostgreSQL gives, where nothing is private any more.

    Beside rows a whole number stays one, which is counted exactly.
    """
    if value.scale is None or not value.is_number:
        return value
    called = str(node.meta.get("name", ""))
    is_double = function.of_double and len(arguments) == 1 and arguments[0].is_integer
    if is_double or (type(node) is exp.Extract and called == "date_part"):
        return inexact(as_double(value), FLOAT8, value.low, value.high, nullable=value.nullable)
    if function.of_double and len(arguments) == 2 and arguments[0].is_integer:
        return replace(value, type=NUMERIC)
    return value
