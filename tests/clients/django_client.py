"""What users of Django do with a database that others made. Writes one JSON object of what was seen."""

import io
import json
import os
import sys
import types
from collections.abc import Callable
from datetime import datetime

import django
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.models import Avg, Count, F, Q, StdDev, Sum
from django.db.models.functions import ExtractYear, TruncMonth, TruncYear

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
            "PASSWORD": os.environ["PGPASSWORD"], "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
            "OPTIONS": {"options": "-c dp.preview=view"},
        }
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "shop"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=os.environ.get("ZONES") == "1",
)  # fmt: skip
seen: dict[str, object] = {}
shop = types.ModuleType("shop")
shop.__path__ = [os.environ["HOME"]]
sys.modules["shop"] = shop
django.setup()


def outcome(run: Callable[[], object]) -> object:
    """What it gives, or the SQLSTATE of its error."""
    try:
        return run()
    except DatabaseError as error:
        cause: BaseException | None = error
        while cause is not None and not hasattr(cause, "sqlstate"):
            cause = cause.__cause__ or cause.__context__
        return str(getattr(cause, "sqlstate", error))


def inspected() -> tuple[str, list[str]]:
    """What inspectdb writes, without what it says of tables that it cannot inspect, and the first lines of that."""
    out = io.StringIO()
    call_command("inspectdb", include_views=True, stdout=out)
    kept, unable, is_said = list[str](), list[str](), False
    for line in out.getvalue().splitlines():
        is_said = line.startswith("# Unable to inspect") or (is_said and line != "")
        if line.startswith("# Unable to inspect"):
            unable.append(line.removeprefix("# "))
        if not is_said:
            kept.append(line)
    return "\n".join(kept), unable


def near(value: object, expected: float) -> bool:
    return abs(float(value) - expected) < 60


with connection.cursor() as cursor:
    shown = connection.introspection
    seen["tables"] = sorted((found.name, found.type) for found in shown.get_table_list(cursor))
    seen["relations"] = shown.get_relations(cursor, "visits")
    keys = shown.get_constraints(cursor, "people")
    seen["keys"] = sorted(name for name, of in keys.items() if of["primary_key"])
    seen["checks"] = sum(of["check"] for of in keys.values())
written, seen["uninspected"] = inspected()
lines = written.splitlines()
seen["inspected"] = [line.split("(")[0].removeprefix("class ") for line in lines if line.startswith("class ")]
seen["fields"] = [line.split("#")[0].strip() for line in lines if " = models." in line and "Field(" in line]
module = types.ModuleType("shop.models")
module.__dict__["__name__"] = "shop.models"
sys.modules["shop.models"] = module
MINE = """
class Person(models.Model):
    age = models.IntegerField()
    town = models.TextField(blank=True, null=True)
    born = models.DateField()
    seen = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "people"


class Visit(models.Model):
    person = models.ForeignKey(Person, models.DO_NOTHING, db_column="person", primary_key=True)
    cost = models.IntegerField()

    class Meta:
        managed = False
        db_table = "visits"
"""
exec(
    compile(written + MINE, "models.py", "exec"), module.__dict__
)  # what inspectdb wrote, and what a user added
Person, Visit, Towns = module.Person, module.Visit, module.Towns

with connection.cursor() as cursor:
    cursor.execute("SET dp.preview = off")
people, visits, towns = Person.objects, Visit.objects, Towns.objects
each_town = people.values("town").annotate(n=Count("*"))
seen["count"] = near(people.count(), 1000)
seen["filtered"] = near(people.filter(age__gte=50, town__in=["Bern", "Oslo"]).count(), 333)
seen["either"] = near(people.filter(Q(age__lt=10) | Q(age__range=(90, 99))).exclude(town="Rome").count(), 133)
seen["groups"] = [row["town"] for row in each_town.order_by("town")]
seen["aggregate"] = sorted(people.aggregate(Avg("age"), Sum("age"), StdDev("age"), Count("id")))
seen["mean"] = near(people.aggregate(mean=Avg("age"))["mean"], 49.5)
seen["distinct"] = near(visits.aggregate(n=Count("person", distinct=True))["n"], 1000)
seen["filter"] = near(people.aggregate(n=Count("id", filter=Q(age__lt=50)))["n"], 500)
spent = visits.values("person__town").annotate(total=Sum("cost"))
seen["joined"] = [row["person__town"] for row in spent.order_by("person__town")]
seen["through"] = near(visits.filter(person__age__lt=50).count(), 1500)
years = people.annotate(y=ExtractYear("born")).values("y").annotate(n=Count("*"))
seen["years"] = [row["y"] for row in years.filter(n__gt=150).order_by("y")]
months = people.filter(born__year=1951).annotate(m=TruncMonth("born")).values("m").annotate(n=Count("*"))
seen["months"] = len(months.filter(n__gt=9).order_by("m"))
moments = people.annotate(m=TruncYear("seen")).values("m").annotate(n=Count("*"))
seen["moments"] = [str(row["m"]) for row in moments.filter(n__gt=500)]
seen["since"] = near(people.filter(seen__gte=datetime(2019, 1, 1), seen__year=2020).count(), 1000)  # noqa: DTZ001
seen["having"] = len(each_town.filter(n__gt=100))
seen["like"] = near(people.filter(town__icontains="o").count(), 667)
seen["exists"] = outcome(people.exists)
seen["exists where"] = outcome(people.filter(age=30).exists)
seen["public exists"] = [towns.filter(town="Rome").exists(), towns.filter(town="Ulm").exists()]
seen["public"] = list(towns.order_by("town").values_list("town", "n"))
seen["one"] = str(towns.get(pk="Oslo").area)
seen["expression"] = list(towns.annotate(m=F("n") * 2).values_list("m", flat=True).order_by("m"))
seen["raw"] = [row.n for row in towns.raw("SELECT * FROM towns WHERE n > %s ORDER BY n", [1])]
seen["iterated"] = [town.pk for town in towns.order_by("town").iterator(chunk_size=2)]
with transaction.atomic():
    seen["block"] = towns.count()
seen["rows"] = outcome(lambda: list(people.values("age", "born")[:5]))
seen["saved"] = outcome(lambda: Towns(town="Ulm").save(force_insert=True))
seen["deleted"] = outcome(lambda: towns.filter(town="Rome").delete())
seen["migrated"] = outcome(lambda: call_command("migrate", verbosity=0))
seen["priced"] = "epsilon" in people.filter(age__lt=50).values("town").annotate(n=Count("*")).explain()
sys.stdout.write(json.dumps(seen, default=str))
