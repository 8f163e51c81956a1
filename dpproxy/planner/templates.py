"""``to_date('2024-01-31', 'YYYY-MM-DD')``, as BI tools write a moment, is a constant: ``date '2024-01-31'``.

Only constant texts in a template of plain numbers; ``to_timestamp`` gives the moment without time zone that the text
says, as sessions here have none of their own. ``date(x)`` is ``x::date``.
"""

import re
from datetime import date, datetime

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.values.errors import InvalidText, Unsupported

_TEMPLATE = re.compile(r"(?!.*(%.).*\1)(?=.*%Y)(?:%[YmdHMSf]|[-/.,:; T])+", re.ASCII)
"""The parser's writing of YYYY, MM, DD, HH24, MI, SS and US, each once, with what may stand between them."""
_NAMES: dict[type[exp.Expr], str] = {exp.StrToDate: "to_date", exp.StrToTime: "to_timestamp"}
_LONGEST = 100


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
