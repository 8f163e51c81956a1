"""Rows of the two schemas: small, the same each time, with what the statements look for."""

# ruff: noqa: DTZ001 - the type has no time zone

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

Row = tuple[object, ...]
FIRST_DAY = date(2020, 1, 1)
DAYS = 731
CUSTOMERS = 250
ITEMS = 36
USERS = 300
COUNTRIES = ("AT", "DE", "NO")


def _days() -> Iterator[Row]:
    for number in range(DAYS):
        day = FIRST_DAY + timedelta(days=number)
        months = (day.year - FIRST_DAY.year) * 12 + day.month
        weeks = (number + FIRST_DAY.weekday()) // 7 + 1
        yield number + 1, day, day.year, (day.month + 2) // 3, day.month, day.strftime("%A"), months, weeks


def _items() -> Iterator[Row]:
    categories, classes = ("Books", "Music", "Shoes"), ("classic", "new", "used")
    for number in range(1, ITEMS + 1):
        price = Decimal(100 + number * 731 % 20000) / 100
        kind = classes[number // 3 % 3]
        yield number, f"brand {number % 12}", kind, categories[number % 3], number % 6 + 1, price


def _sale(rng: Random, customer: int, order: int) -> Row:
    day, quantity = rng.randint(1, DAYS - 100), rng.randint(1, 60)
    price = Decimal(rng.randint(100, 29_999)) / 100
    profit = Decimal(rng.randint(-50_000, 150_000)) / 100
    mode = rng.choice(["AIR", "ROAD", "SEA"])
    shipped = None if rng.random() < 0.05 else day + rng.randint(1, 90)
    return customer, order, rng.randint(1, ITEMS), day, shipped, mode, quantity, price, profit


def retail() -> dict[str, list[Row]]:
    """Every table's rows."""
    rng = Random(18)
    tables: dict[str, list[Row]] = {"days": list(_days()), "items": list(_items())}
    tables["stores"] = [
        (n, name, ("AL", "GA", "TN", "TX")[n % 4], f"county {n % 3}")
        for n, name in enumerate(("able", "bar", "cal", "ese", "ought"), 1)
    ]
    tables["promotions"] = [(n, "YN"[n % 2], "YNN"[n % 3]) for n in range(1, 7)]
    tables["stock"] = [
        (day, item, (day * 37 + item * 101) % 900)
        for day in range(1, DAYS, 7)
        for item in range(1, ITEMS + 1)
    ]
    tables["customers"] = [
        (
            n,
            rng.choice("FM"),
            rng.choice(["Primary", "Secondary", "College"]),
            rng.choice(["AL", "GA", "TN", "TX"]),
            rng.choice(["30001", "30002", "37001", "75001"]),
            rng.randint(1930, 2005),
            date(2019, 1, 1) + timedelta(days=rng.randint(0, 1000)),
        )
        for n in range(1, CUSTOMERS + 1)
    ]
    sales, returns, ticket = [], [], 0
    for customer in range(1, CUSTOMERS + 1):
        for _ in range(rng.randint(0, 6)):
            ticket += 1
            day, hour, store = rng.randint(1, DAYS - 100), rng.randint(8, 20), rng.randint(1, 5)
            for item in rng.sample(range(1, ITEMS + 1), rng.randint(1, 5)):
                listed = Decimal(rng.randint(500, 29_999)) / 100
                price = (listed * rng.randint(50, 100) / 100).quantize(Decimal("0.01"))
                promotion = None if rng.random() < 0.1 else rng.randint(1, 6)
                quantity, profit = rng.randint(1, 60), Decimal(rng.randint(-50_000, 300_000)) / 100
                sales.append(
                    (customer, ticket, item, day, hour, store, promotion, quantity, listed, price, profit)
                )
                if rng.random() < 0.15:
                    returns.append(
                        (customer, ticket, item, day + rng.randint(1, 90), rng.randint(1, quantity), price)
                    )
    tables |= {"store_sales": sales, "store_returns": returns}
    for name in ("web_sales", "catalog_sales"):
        tables[name] = [
            _sale(rng, customer, customer * 10 + order)
            for customer in range(1, CUSTOMERS + 1)
            for order in range(rng.randint(0, 4))
            for _ in range(rng.randint(1, 4))
        ]
    return tables


def clicks() -> dict[str, list[Row]]:
    """Every table's rows."""
    rng = Random(43)
    tables: dict[str, list[Row]] = {
        "regions": [(n, COUNTRIES[n % 3], f"region {n}") for n in range(1, 13)],
        "signups": [],
        "hits": [],
    }
    phrases = ("", "", "red shoes", "maps", "weather", "Blue hat", "tickets")
    for user in range(1, USERS + 1):
        start = datetime(2013, 6, 20) + timedelta(minutes=rng.randint(0, 40_000))
        tables["signups"].append(
            (user, start, rng.choice(["free", "free", "pro", "team"]), rng.choice(COUNTRIES))
        )
        region, phone = (
            rng.choice([1, 1, 2, 3, 5, 7, 8, 8, 8, 11]),
            rng.choice(["", "", "Nokia", "Siemens", "Apple"]),
        )
        for _ in range(rng.randint(0, 14)):
            at = datetime(2013, 7, 1) + timedelta(seconds=rng.randint(0, 31 * 86_400 - 1))
            page = rng.choice(["cart", "home", "list", "item"])
            url = f"http{rng.choice(['', 's'])}://{rng.choice(['shop1', 'shop2', 'news', 'blog'])}.example/{page}"
            referer = rng.choice(
                ["", "https://www.find.example/q", "http://find.example/q", "http://mail.example/in"]
            )
            tables["hits"].append(
                (
                    user,
                    at,
                    at.date(),
                    rng.choice([60, 61, 62, 62, 62]),
                    url,
                    referer,
                    f"{page} page",
                    rng.choice(phrases),
                    region,
                    rng.randint(0, 4),
                    rng.randint(0, 3),
                    phone,
                    phone and f"{phone} {rng.randint(1, 2)}",
                    rng.choice([320, 1024, 1366, 1920]),
                    rng.choice([480, 768, 1080]),
                    rng.choice([0, 0, 0, 1, 2]),
                    rng.random() < 0.2,
                    phone != "",
                    rng.randint(0, 600),
                    rng.randint(-1, 6),
                )
            )
    return tables


ROWS: dict[str, Callable[[], dict[str, list[Row]]]] = {"retail": retail, "clicks": clicks}
