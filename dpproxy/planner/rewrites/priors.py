"""``dp.with_prior(x, family => 'normal', mean => 44, sd => 6)`` in one form for all that follows the parser.

The form is an aggregate call of the operand and the prior's text, ``normal(44, 6)``; or of the operand, a subquery over
public tables and the family its rows are read as. Its arguments are constants: a prior follows from nothing private.
"""

import json

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.values.errors import InvalidParameter, Refusal
from udfs.prior_notation import FAMILIES, parse
from udfs.priors import Prior
from udfs.privacy import InvalidMechanism

NAME = "with_prior"
HINT = "dp.with_prior(avg(age), family => 'normal', mean => 44, sd => 6), or dp.with_prior(avg(age), 'normal(44, 6)')"
PARAMETERS: dict[str, tuple[str, ...]] = {
    "uniform": ("low", "high"),
    "normal": ("mean", "sd"),
    "truncated_normal": ("mean", "sd", "low", "high"),
    "lognormal": ("mean", "sd"),
    "triangular": ("low", "mode", "high"),
    "beta": ("alpha", "beta", "low", "high"),
    "histogram": ("edges", "masses"),
    "point": ("value",),
    "table": ("values", "masses"),
    "nominal": ("values", "masses"),
    "ordinal": ("values", "masses"),
    "custom": ("values", "masses", "distances"),
}
"""The parameters of every family by name, in the order of its notation."""
_OTHER_NAMES = {"mu": "mean", "sigma": "sd"}
_OPTIONAL = {"beta": 2}
ROWS = ("table", "nominal", "ordinal")
"""The families that rows of values and masses can be read as."""


def is_with_prior(node: exp.Expr | None) -> bool:
    """The form above."""
    return type(node) is exp.AnonymousAggFunc and node.name == f"dp.{NAME}"


def write_priors(tree: exp.Expr) -> None:
    """Put every call into the form above, in place on our own fresh tree. Raises ``InvalidParameter`` (22023)."""
    for node in list(tree.find_all(exp.Dot)):
        call, schema = node.args.get("expression"), node.args.get("this")  # a broken statement has neither
        if (
            getattr(schema, "name", "") == "dp"
            and isinstance(call, exp.Anonymous)
            and str(call.this).lower() == NAME
        ):
            folded = exp.AnonymousAggFunc(this=f"dp.{NAME}", expressions=_folded(call))
            folded.meta.update(name=NAME, start=position(node))
            node.replace(folded)


def _folded(call: exp.Anonymous) -> list[exp.Expr]:
    first, *rest = call.expressions or [None]
    if first is None or isinstance(first, exp.Kwarg):
        raise _wrong("dp.with_prior takes what is asked for first, and its prior after it", call)
    named = {n.this.name.lower(): n.expression for n in rest if isinstance(n, exp.Kwarg)}
    plain = [n for n in rest if not isinstance(n, exp.Kwarg)]
    if len(named) + len(plain) != len(rest) or len(plain) > 1 or (plain and "prior" in named):
        raise _wrong("a prior is written once, and each of its parameters once", call)
    given = plain[0] if plain else named.pop("prior", None)
    family = named.pop("family", None)
    if isinstance(given, exp.Subquery | exp.Select):
        return [first, given, *_rows_family(family, named, call)]
    if given is not None:
        if family is not None or named:
            raise _wrong("a prior written as one text has no parameters beside it", call)
        return [first, _literal(_text(given), call)]
    if family is None:
        if named:
            raise _wrong("a prior needs its family", call)
        return [first]
    return [first, _literal(_call(_text(family), named, call), call)]


def _rows_family(family: exp.Expr | None, named: dict[str, exp.Expr], call: exp.Expr) -> list[exp.Expr]:
    word = None if family is None else _text(family)
    if named or (word is not None and word not in ROWS):
        raise _wrong(f"rows of values and masses are a prior of family {', '.join(ROWS)}", call)
    return [] if word is None else [exp.Literal.string(word)]


def _call(family: str, named: dict[str, exp.Expr], call: exp.Expr) -> str:
    """The family's notation."""
    if family not in PARAMETERS:
        raise _wrong(f"no family of priors is called {family[:40]}; there are {', '.join(FAMILIES)}", call)
    wanted = PARAMETERS[family]
    given = {_OTHER_NAMES.get(name, name) if "mean" in wanted else name: n for name, n in named.items()}
    present = [name for name in wanted if name in given]
    if len(given) != len(named) or set(given) - set(wanted) or present != list(wanted[: len(present)]):
        raise _wrong(f"a prior of family {family} takes {', '.join(wanted)}", call)
    if len(present) < len(wanted) and len(present) != _OPTIONAL.get(family):
        raise _wrong(f"a prior of family {family} takes {', '.join(wanted)}", call)
    return f"{family}({', '.join(json.dumps(_value(given[name])) for name in present)})"


def _value(node: exp.Expr) -> object:
    """A constant, or an array of them."""
    match node:
        case exp.Array():
            return [_value(each) for each in node.expressions]
        case exp.Literal() if node.is_string:
            return str(node.this)
        case exp.Literal():
            return _number(str(node.this), node)
        case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return -_number(str(node.this.this), node)
        case _:
            raise _wrong("the parameters of a prior are constants, as in mean => 44", node)


def _number(text: str, node: exp.Expr) -> int | float:
    try:
        return int(text) if text.isdigit() and len(text) < 300 else float(text)
    except ValueError:
        raise _wrong("the parameters of a prior are constants, as in mean => 44", node) from None


def _text(node: exp.Expr) -> str:
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    raise _wrong("a prior and its family are texts, as in 'normal(44, 6)'", node)


def _literal(text: str, at: exp.Expr) -> exp.Expr:
    read(text, position(at))
    return exp.Literal.string(text)


def read(text: str, at: int | None) -> Prior:
    """The prior that a text describes. Raises ``InvalidParameter`` (22023)."""
    try:
        return parse(text)
    except InvalidMechanism as error:
        raise InvalidParameter(str(error), hint=HINT, position=at) from None


def _wrong(message: str, node: exp.Expr) -> Refusal:
    return InvalidParameter(message, hint=HINT, position=position(node))
