"""The pages of analysts: tables, the editor with its prices, answers, history."""

import re
from typing import Final

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from dpproxy.sql.quoting import identifier, table_text
from dpproxy.web.answers import Value, as_csv, is_number, table
from dpproxy.web.charts import charts, shown_ticks
from dpproxy.web.logins import Login, Outcome
from dpproxy.web.prices import Price, first_word, is_question
from dpproxy.web.site import Form, Site, gone, html
from dpproxy.web.wire import Refused, Rows

TABLES: Final = """\
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE concat(n.nspname, '.', c.relname) END AS name,
  obj_description(c.oid, 'pg_class') AS said, a.attname, format_type(a.atttypid, a.atttypmod) AS type,
  col_description(c.oid, a.attnum) AS domain
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'dp') AND c.relkind IN ('r', 'v', 'm') AND a.attnum > 0
ORDER BY 1, a.attnum"""
PAID: Final = """\
SELECT at, what, epsilon, budget FROM dp.ledger WHERE kind = 'charge' ORDER BY sequence DESC LIMIT 200"""
HISTORY: Final = "SHOW PRIVACY HISTORY LIMIT 400"
CUT: Final = "…"
"""The end of a statement that was too long to be kept whole."""
BUDGETS: Final = "SELECT * FROM dp.budgets"
_VALUE = re.compile(r"'((?:[^']|'')*)'")


class Described(Struct, frozen=True):
    """A column as analysts see it: the values it may have, in words."""

    name: str
    kind: str
    domain: str
    values: tuple[str, ...] = ()


class Shown(Struct, frozen=True):
    """A table with its columns; behind its schema where a statement has to name that."""

    name: str
    said: str | None
    columns: tuple[Described, ...]

    @property
    def question(self) -> str:
        """A first question about it."""
        keys = [identifier(c.name) for c in self.columns if c.values][:1]
        selected = ", ".join([*keys, "count(*)"])
        return f"SELECT {selected} FROM {table_text(self.name)}" + "".join(f" GROUP BY {key}" for key in keys)  # noqa: S608 - shown to be edited


class Balance(Struct, frozen=True):
    """What is left of a budget for one user: of the tightest of its limits."""

    name: str
    left: float
    limit: float
    tables: str
    more: str | None
    refills: str | None
    shares: bool = False

    @property
    def percent(self) -> float:
        """What is left of the limit."""
        return round(max(0.0, min(100.0, 100.0 * self.left / self.limit)), 2) if self.limit else 0.0


def described(name: str, kind: str, domain: str | None) -> Described:
    """A column whose declaration is read for people.

    >>> described("age", "integer", "DOMAIN BETWEEN 17 AND 90 OUTSIDE CLAMP").domain
    '17 to 90'
    """
    words = (domain or "").removeprefix("DOMAIN ")
    if words.startswith("IN ("):
        values = tuple(found.replace("''", "'") for found in _VALUE.findall(words))
        return Described(name, kind, f"{len(values)} values" if values else words.removeprefix("IN "), values)
    if words.startswith("BETWEEN "):
        bounds = words.removeprefix("BETWEEN ").partition(" OUTSIDE ")[0].replace(" AND ", " to ")
        return Described(name, kind, bounds)
    return Described(name, kind, words.removeprefix("IN "))


async def tables_of(login: Login) -> list[Shown]:
    """The tables that the user may ask about."""
    found: dict[str, tuple[str | None, list[Described]]] = {}
    answer = await login.ask(TABLES)
    for name, said, column, kind, domain in answer.rows if isinstance(answer, Rows) else ():
        found.setdefault(str(name), (said, []))[1].append(described(str(column), str(kind), domain))
    return [Shown(name, said, tuple(columns)) for name, (said, columns) in found.items()]


async def balances_of(login: Login) -> list[Balance]:
    """What the user may still spend."""
    answer = await login.ask(BUDGETS)
    return [balance(one) for one in answer.records()] if isinstance(answer, Rows) else []


def balance(row: dict[str, str | None]) -> Balance:
    """The tightest limit of a row of dp.budgets."""
    pairs = [
        (float(row[left] or 0), float(row[limit] or 0))
        for left, limit in (
            ("remaining", "limit_epsilon"),
            ("user_remaining", "user_limit"),
            ("session_remaining", "session_limit"),
        )
        if row[limit] is not None
    ]
    left, limit = min(pairs, default=(0.0, 0.0))
    if row["ceiling_remaining"] is not None:
        left = min(left, float(row["ceiling_remaining"]))
    return Balance(
        row["budget"] or "",
        left,
        limit,
        row["tables"] or "",
        row["more_like_last"],
        row["refills_at"],
        row.get("shares_releases") == "t",
    )


async def editor(
    login: Login,
    statement: str,
    *,
    price: Price | Refused | None = None,
    outcome: Outcome | None = None,
    problem: Refused | None = None,
) -> HTMLResponse:
    """The editor with a statement, beside the tables and what is left; below it the price or the outcome."""
    result = None if outcome is None else outcome.result
    shown = table(result) if isinstance(result, Rows) and result.columns else None
    return html(
        "ask.html",
        login,
        statement=statement,
        price=price,
        problem=problem,
        outcome=outcome,
        result=result,
        refused=result if isinstance(result, Refused) else None,
        table=shown,
        charts=[(each, shown_ticks(each)) for each in charts(shown)] if shown else [],
        is_value=lambda cell: isinstance(cell, Value),
        is_number=is_number,
        tables=await tables_of(login),
        balances=await balances_of(login),
    )


async def ask_page(request: Request, login: Login) -> Response:
    """The editor, with the statement of the address and its price where there is one."""
    statement = request.query_params.get("statement", "")
    return await editor(login, statement, price=await _price(login, statement))


async def _price(login: Login, statement: str) -> Price | Refused | None:
    return await login.price(statement) if is_question(statement) else None


async def ask(_request: Request, login: Login, form: Form) -> Response:
    """Run the statement of the editor, or show its price."""
    statement = form.get("statement", "").strip().removesuffix(";")
    problem = await login.choose_epsilon(form.get("epsilon", login.epsilon).strip())
    if problem is not None:
        return await editor(login, statement, problem=problem)
    if not statement or "price" in form:
        return await editor(login, statement, price=await _price(login, statement))
    if first_word(statement) == "copy":
        only = Refused(
            "0A000",
            "COPY is not for this page",
            hint="run the query itself, and take its answer as CSV",
            position=0,
        )
        return await editor(login, statement, problem=only)
    outcome = await login.run(statement)
    return gone(f"/answers/{outcome.number}")


async def draft(_request: Request, login: Login, form: Form) -> Response:
    """The price of what stands in the editor, as a part of its page; nothing where a newer draft has come."""
    statement = form.get("statement", "").strip().removesuffix(";")
    problem = await login.choose_epsilon(form.get("epsilon", login.epsilon).strip())
    price = problem or await _price(login, statement)
    if price is None and is_question(statement):
        return Response(status_code=204)
    return html("price.html", login, price=price, statement=statement)


def _outcome(request: Request, login: Login) -> Outcome:
    found = login.outcomes.get(request.path_params["number"])
    if found is None:
        raise HTTPException(
            404, "This session has no answer of that number, or has forgotten it: ask again, it is free."
        )
    return found


async def answer_page(request: Request, login: Login) -> Response:
    """An outcome below the statement that it came of."""
    outcome = _outcome(request, login)
    return await editor(login, outcome.statement, outcome=outcome)


async def answer_csv(request: Request, login: Login) -> Response:
    """The answer as a file."""
    outcome = _outcome(request, login)
    if isinstance(outcome.result, Refused):
        raise HTTPException(404, "It was refused: there is no answer.")
    name = f'attachment; filename="answer-{outcome.number}.csv"'
    return Response(as_csv(outcome.result), media_type="text/csv", headers={"content-disposition": name})


async def take(_request: Request, login: Login, form: Form) -> Response:
    """Take the statement of a hint: a setting is made at once, anything else goes into the editor."""
    hinted, statement = form.get("hinted", ""), form.get("statement", "")
    if not hinted.lower().startswith(("set ", "reset ")):
        return await editor(login, hinted, price=await _price(login, hinted))
    answer = await login.ask(hinted)
    if isinstance(answer, Refused):
        return await editor(login, statement, problem=answer)
    await login.look_at_epsilon()
    return await editor(login, statement, price=await _price(login, statement))


async def tables_page(_request: Request, login: Login) -> Response:
    """Tables and columns with the values that they may have."""
    return html("tables.html", login, tables=await tables_of(login))


async def history_page(_request: Request, login: Login) -> Response:
    """What was asked in this session, what was answered in others by any client, and what the user has paid for."""
    ledger = None if login.is_admin else await login.ask(PAID)
    paid = ledger.records() if isinstance(ledger, Rows) else []
    outcomes = [
        (o, o.result if isinstance(o.result, Refused) else None) for o in reversed(login.outcomes.values())
    ]
    now = {o.statement for o in login.outcomes.values()}
    answered = await login.ask(HISTORY)
    found = answered.records() if isinstance(answered, Rows) else []
    earlier = {one["statement"] or "": one for one in reversed(found) if one["statement"] not in now}
    last = sorted(earlier.values(), key=lambda one: one["at"] or "", reverse=True)
    notices = answered.notices
    return html("history.html", login, outcomes=outcomes, earlier=last, paid=paid, notices=notices, cut=CUT)


def routes(site: Site) -> list[Route]:
    """The addresses of these pages."""
    return [
        site.page("/", ask_page),
        site.action("/ask", ask),
        site.action("/draft", draft),
        site.action("/take", take),
        site.page("/answers/{number:int}", answer_page),
        site.page("/answers/{number:int}.csv", answer_csv),
        site.page("/tables", tables_page),
        site.page("/history", history_page),
    ]
