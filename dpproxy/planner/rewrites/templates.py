"""``to_date('2024-01-31', 'YYYY-MM-DD')``, as BI tools write a moment, is a constant: ``date '2024-01-31'``.

Only constant texts in a template of plain numbers; ``to_timestamp`` gives the moment without time zone that the text
says, as sessions here have none of their own. ``date(x)`` is ``x::date``.

Tableau writes the Sunday before a day as the day minus the number of its weekday. Here that is the Monday before the
next day, minus one day: ``date_trunc`` has declared keys.

A percentile at several places is written as a list of percentiles at one, and WIDTH_BUCKET with a list as a CASE. An
element of what REGEXP_MATCH gives is a part of a match.
"""

import re
from datetime import date, datetime

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.planner.rewrites.lists import listed_values
from dpproxy.values.errors import InvalidText, Unsupported

_TEMPLATE = re.compile(r"(?!.*(%.).*\1)(?=.*%Y)(?:%[YmdHMSf]|[-/.,:; T])+", re.ASCII)
"""The parser's writing of YYYY, MM, DD, HH24, MI, SS and US, each once, with what may stand between them."""
_NAMES: dict[type[exp.Expr], str] = {exp.StrToDate: "to_date", exp.StrToTime: "to_timestamp"}
_LONGEST = 100
MOST_COPIED = 1_000
"""Nodes that one list may make."""


def write_moments(tree: exp.Expr) -> None:
    """Put the constant for every call, in place on our own fresh tree.

    Errors: ``Unsupported`` for what is not constant, and for other templates; ``InvalidText``.
    """
    for node in list(tree.find_all(*_NAMES)):
        text, template = _text(node.this), _text(node.args.get("format"))
        if text is None or template is None or not _TEMPLATE.fullmatch(template):
            raise Unsupported(
                f"{_NAMES[type(node)]}() takes a constant and a template of YYYY, MM, DD, HH24, MI, SS and US",
                hint="Write the moment as a constant: date '2024-01-31', timestamp '2024-01-31 12:00:00'.",
                position=position(node),
            )
        moment = _read(text, template, node)
        is_day = isinstance(node, exp.StrToDate)
        written: date = moment.date() if is_day else moment
        cast = exp.Cast(
            this=exp.Literal.string(str(written)), to=exp.DataType.build("DATE" if is_day else "TIMESTAMP")
        )
        cast.meta.update(node.meta, name=_NAMES[type(node)])
        node.replace(cast)
    for call in list(tree.find_all(exp.Date)):
        if {place for place, value in call.args.items() if value} == {"this"}:
            day = exp.Cast(this=call.this, to=exp.DataType.build("DATE"))
            day.meta.update(call.meta, name="date")
            call.replace(day)
    for total in list(tree.find_all(exp.Add, exp.Sub)):
        if _is_sunday(total):
            total.replace(_sunday(total))


def write_percentiles(tree: exp.Expr) -> None:
    """``percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (...)`` is a list of single ones, each with its FILTER."""
    for call in list(tree.find_all(exp.WithinGroup)):
        places = call.this.this if isinstance(call.this, exp.PercentileCont | exp.PercentileDisc) else None
        whole = call.parent if isinstance(call.parent, exp.Filter) else call
        if not isinstance(places, exp.Array) or not _is_written_out(places.expressions, whole):
            continue
        made = exp.Array()
        for place in places.expressions:
            one = whole.copy()
            (one.this if isinstance(one, exp.Filter) else one).this.set("this", place.copy())
            made.append("expressions", one)
        made.meta.update(call.this.meta)
        whole.replace(made)


def write_matches(tree: exp.Expr) -> None:
    """``(regexp_match(x, 'a(b)'))[1]`` and ``substring(x FROM 'a(b)')`` are the part of a match in a group."""
    for node in list(tree.find_all(exp.Bracket, exp.Substring)):
        call, number = node.this, exp.Literal.number(1)
        if isinstance(node, exp.Bracket):
            call, places = call.unnest(), node.expressions
            is_match = type(call) is exp.Anonymous and call.name.lower() == "regexp_match"
            if not (is_match and 2 <= len(call.expressions) <= 3 and len(places) == 1 and places[0].is_int):
                continue
            number = exp.Literal.number(int(places[0].name) + 1)  # the parser counts from 0
            names = ("this", "expression", "parameters")
            arguments = dict(zip(names, call.expressions, strict=False))
        elif getattr(node.args.get("start"), "is_string", False) and not node.args.get("length"):
            arguments = {"this": call, "expression": node.args["start"]}
        else:
            continue
        made = exp.RegexpExtract(**arguments, group=number)
        made.meta.update(node.meta, name="regexp_match" if isinstance(node, exp.Bracket) else "substring")
        node.replace(made)


def write_buckets(tree: exp.Expr) -> None:
    """``width_bucket(x, ARRAY[1, 5])`` is a CASE: how many of the constants, which ascend, x has reached."""
    for call in list(tree.find_all(exp.WidthBucket)):
        array = call.args.get("threshold")
        bounds = None if array is None else listed_values(array)
        if not bounds or not _is_written_out(bounds, call.this):
            continue
        value = exp.Paren(this=call.this)
        case = exp.Case().when(exp.Is(this=value.copy(), expression=exp.Null()), exp.Null())
        for place, bound in enumerate(bounds):
            case = case.when(exp.LT(this=value.copy(), expression=bound.copy()), exp.Literal.number(place))
        case.set("default", exp.Literal.number(len(bounds)))
        case.meta.update(call.meta)
        is_item = isinstance(call.parent, exp.Select) and call.arg_key == "expressions"
        call.replace(exp.alias_(case, "width_bucket") if is_item else case)


def _is_written_out(several: list[exp.Expr], copied: exp.Expr) -> bool:
    """Whether a copy for each of several is not too much."""
    return 0 < len(several) * sum(1 for _ in copied.walk()) <= MOST_COPIED


def _is_sunday(node: exp.Binary) -> bool:
    """``day - extract(dow FROM day) * INTERVAL '1 day'``, or plus the negative of it."""
    by, days = node.expression.unnest(), None
    if type(by) is exp.Mul:
        pair = (by.this.unnest(), by.expression.unnest())
        days = next((a for a, b in (pair, pair[::-1]) if _is_one_day(b)), None)
    if isinstance(node, exp.Add):
        days = days.this.unnest() if isinstance(days, exp.Neg) else None
    if not isinstance(days, exp.Extract) or days.this.name.upper() != "DOW":
        return False
    return _is_day(node.this) and _moment(node.this) == _moment(days.expression)


def _is_one_day(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal):
        return False
    unit = node.args.get("unit")
    return f"{node.this.name} {unit.name if unit else ''}".split() in (["1", "day"], ["1", "DAY"])


def _is_day(node: exp.Expr) -> bool:
    bare = node.unnest()
    is_cut = isinstance(bare, exp.TimestampTrunc) and bare.args["unit"].name.upper() == "DAY"
    return is_cut or (type(bare) is exp.Cast and bare.to.this == exp.DType.DATE)


def _moment(node: exp.Expr) -> exp.Expr:
    """What a day is the day of, by the session's clock."""
    bare = node.unnest()
    is_timestamp = type(bare) is exp.Cast and bare.to.this == exp.DType.TIMESTAMP
    return _moment(bare.this) if is_timestamp or _is_day(bare) else bare


def _sunday(node: exp.Binary) -> exp.Expr:
    day = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this="DAY"))
    next_day = exp.Add(this=node.this.copy(), expression=day)
    made = exp.Sub(this=exp.TimestampTrunc(this=next_day, unit=exp.Var(this="WEEK")), expression=day.copy())
    for part in (made, made.this, next_day):
        part.meta.update(node.meta)
    return made


def _text(node: exp.Expr | None) -> str | None:
    is_short = isinstance(node, exp.Literal) and node.is_string and len(node.name) <= _LONGEST
    return node.name if is_short and node is not None and node.name.isascii() else None


def _read(text: str, template: str, node: exp.Expr) -> datetime:
    try:
        return datetime.strptime(text, template)  # noqa: DTZ007 - the type has no time zone
    except ValueError:
        raise InvalidText(
            f"a text of {_NAMES[type(node)]}() is not of its template", position=position(node)
        ) from None
