"""The errors, times and refusals of everybody, as tables and as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, NullLocator

from tests.bench.report import number
from tests.bench.results import FOLDER, Result
from tests.bench.rivals.candidates import BARE, PEERS, PROXY
from tests.bench.rivals.measuring import LEAST, Found
from tests.bench.rivals.questions import QUESTIONS

PICTURE = FOLDER / "rivals.png"
OTHERS = tuple(one.name for one in PEERS)
ERRORS = ("people", "epsilon", "asked", "error of", PROXY, *OTHERS, "smallest")
TIMES = ("people", "asked", BARE, PROXY, "over DuckDB", *OTHERS)
REFUSALS = ("", "asked", "answer")
REFUSED = "refused"
SPREAD = 1.2
"""The standard error of a root mean square of n values of Laplace noise, as a share of it, times the root of n."""
SURE = 3.0
"""Errors that differ by less than so many standard errors are not told apart."""

Key = tuple[str, str, float, str]


def by_key(found: Sequence[Found]) -> dict[Key, Found]:
    """World, question, epsilon, candidate."""
    return {(one.world, one.question, one.epsilon, one.candidate): one for one in found}


def error_rows(found: Mapping[Key, Found], world: str, epsilon: float) -> list[list[str]]:
    """A row for each measure of each question."""
    rows = []
    for question in QUESTIONS:
        for place, measure in enumerate(question.measures):
            cells, errors = [], {}
            groups = len(question.key) or 1
            for candidate in (PROXY, *OTHERS):
                one = found.get((world, question.name, epsilon, candidate))
                if one is not None and not one.refused:
                    errors[candidate] = (one.errors[place], one.runs * groups)
                cells.append(off(one, place))
            rows.append([world, f"{epsilon:g}", question.what, measure, *cells, smallest(errors)])
    return rows


def off(one: Found | None, place: int) -> str:
    """One error; from how many runs, where these are few."""
    if one is None:
        return "not installed"
    if one.refused:
        return REFUSED
    return figure(one.errors[place]) + (f" ({one.runs} runs)" if one.runs < LEAST else "")


def figure(error: float) -> str:
    """Three digits, and all before the point.

    >>> figure(0.00199), figure(12.34), figure(1234.5), figure(float("inf"))
    ('0.00199', '12.3', '1,234', 'inf')
    """
    return f"{error:,.0f}" if 1000 <= error < float("inf") else f"{error:.3g}"


def smallest(errors: Mapping[str, tuple[float, int]]) -> str:
    """Who has the smallest error, and all that cannot be told from it; each with how many values it was taken from."""
    if not errors:
        return ""
    least, of = min(errors.values())

    def alike(error: float, values: int) -> bool:
        return error <= least * (1 + SURE * SPREAD * (1 / of + 1 / values) ** 0.5)

    return ", ".join(name for name, (error, values) in errors.items() if alike(error, values))


def time_rows(found: Mapping[Key, Found], world: str, epsilon: float) -> list[list[str]]:
    """Milliseconds of each question: the first time, and again."""
    rows = []
    for question in QUESTIONS:
        of = {name: found.get((world, question.name, epsilon, name)) for name in (BARE, PROXY, *OTHERS)}
        own, exact = of[PROXY], of[BARE]
        assert own is not None
        assert exact is not None
        ratio = f"{own.again / exact.again:.1f}x"
        others = [spent(of[name]) for name in OTHERS]
        rows.append([world, question.what, f"{number(exact.again)} ms", spent(own), ratio, *others])
    return rows


def spent(one: Found | None) -> str:
    """The first time and again, or why there is no time."""
    if one is None:
        return "not installed"
    return REFUSED if one.refused else f"{number(one.first)} / {number(one.again)} ms"


def refusal_rows(found: Sequence[Found]) -> list[list[str]]:
    """What was answered in place of numbers, once."""
    said = {(one.candidate, one.question): one.refused for one in found if one.refused}
    what = {question.name: question.what for question in QUESTIONS}
    return [[who, what[question], short(text)] for (who, question), text in said.items()]


def short(text: str) -> str:
    """The start of a message, in words that Markdown leaves alone."""
    told = " ".join(text.split())
    for sign, other in {"`": "'", "|": "/", "<": "(", ">": ")"}.items():
        told = told.replace(sign, other)
    return told if len(told) <= 200 else told[:200] + "..."


def tables(found: Sequence[Found], versions: Mapping[str, str], conditions: str) -> dict[str, Result]:
    """Errors, times at the largest epsilon, and refusals, under the names of their files."""
    known = by_key(found)
    worlds = dict.fromkeys(one.world for one in found)
    epsilons = sorted({one.epsilon for one in found}, reverse=True)
    asked = [(w, e) for w in worlds for e in epsilons if (w, QUESTIONS[0].name, e, PROXY) in known]
    errors = [row for world, epsilon in asked for row in error_rows(known, world, epsilon)]
    times = [row for world in worlds for row in time_rows(known, world, max(epsilons))]
    return {
        "rivals-errors": Result(f"{conditions} {asked_of(versions)}", [list(ERRORS), *errors]),
        "rivals-times": Result("", [list(TIMES), *times]),
        "rivals-refused": Result("", [list(REFUSALS), *refusal_rows(found)]),
    }


def asked_of(versions: Mapping[str, str]) -> str:
    """Whose numbers these are, and who is missing."""
    there = ", ".join(f"{name} {version}".strip() for name, version in versions.items())
    missing = [name for name in OTHERS if name not in versions]
    return f"Asked: {there}." + (f" Not installed: {', '.join(missing)}." if missing else "")


def draw(found: Sequence[Found], path: Path) -> None:
    """Errors and times of everybody over the proxy's, at the largest epsilon, in the first world."""
    mpl.use("Agg")
    known, world = by_key(found), found[0].world
    epsilon = max(one.epsilon for one in found)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=False)
    labels = [f"{q.name}: {m}" if len(q.measures) > 1 else q.name for q in QUESTIONS for m in q.measures]
    for candidate, marker in zip((PROXY, *OTHERS), "oDs^", strict=True):
        errors = [
            (place, one.errors[at] / own.errors[at])
            for place, (q, at) in enumerate((q, at) for q in QUESTIONS for at in range(len(q.measures)))
            if (one := known.get((world, q.name, epsilon, candidate))) and one.errors
            if (own := known[world, q.name, epsilon, PROXY]).errors and own.errors[at]
        ]
        left.plot([x for _, x in errors], [place for place, _ in errors], marker, label=candidate)
        times = [
            (place, one.again)
            for place, q in enumerate(QUESTIONS)
            if (one := known.get((world, q.name, epsilon, candidate))) and not one.refused
        ]
        right.plot([x for _, x in times], [place for place, _ in times], marker, label=candidate)
    bare = [known[world, q.name, epsilon, BARE].again for q in QUESTIONS]
    right.plot(bare, range(len(bare)), "k|", markersize=12, label=BARE)
    left.set(xscale="log", xlabel=f"error over the proxy's, epsilon {epsilon:g}", yticks=range(len(labels)))
    left.set_yticklabels(labels)
    right.set(xscale="log", xlabel="milliseconds of an answer, planned before", yticks=range(len(bare)))
    right.set_yticklabels([q.name for q in QUESTIONS])
    for axes in (left, right):
        axes.invert_yaxis()
        axes.grid(alpha=0.3)
    left.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.xaxis.set_major_formatter("{x:g}")
    left.xaxis.set_minor_locator(NullLocator())
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    figure.suptitle(world)
    figure.savefig(path, dpi=80)
    plt.close(figure)
