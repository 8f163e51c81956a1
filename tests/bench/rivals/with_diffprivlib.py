"""diffprivlib: its tools on arrays of numpy, group by group. Run by the interpreter of an environment that has it."""

from collections.abc import Callable
from importlib.metadata import version

import numpy as np
from diffprivlib import tools
from serve import Ask, Columns, Refused, Rows, main

AGE, HOURS, WEIGHT = (17, 90), (0, 100), (0, 1_500_000)


def load(tables: Columns) -> Callable[[str, float], Ask]:
    """Nothing is to be made ready."""
    people = tables["people"]
    age, hours, education = people["age"], people["hours"], people["education"]
    keys = sorted(set(education.tolist()))

    def counts(epsilon: float) -> Rows:
        return [[key, tools.count_nonzero(education == key, epsilon=epsilon)] for key in keys]

    def several(epsilon: float) -> Rows:
        """Three measures: a third of epsilon each."""
        return [[key, *three(education == key, epsilon / 3)] for key in keys]

    def three(rows: np.ndarray, each: float) -> list[object]:
        return [
            tools.count_nonzero(rows, epsilon=each),
            tools.sum(hours[rows], epsilon=each, bounds=HOURS),
            tools.mean(age[rows], epsilon=each, bounds=AGE),
        ]

    known: dict[str, Callable[[float], Rows]] = {
        "count": lambda epsilon: [[tools.count_nonzero(age >= 40, epsilon=epsilon)]],
        "grouped count": counts,
        "sum": lambda epsilon: [[tools.sum(hours, epsilon=epsilon, bounds=HOURS)]],
        "average": lambda epsilon: [[tools.mean(age, epsilon=epsilon, bounds=AGE)]],
        "several": several,
        "median": lambda epsilon: [[tools.median(people["weight"], epsilon=epsilon, bounds=WEIGHT)]],
    }

    def prepare(question: str, epsilon: float) -> Ask:
        if question not in known:
            raise Refused("a row is a person: no argument tells of several rows of one, and there is no join")
        return lambda: known[question](epsilon)

    return prepare


if __name__ == "__main__":
    main(version("diffprivlib"), load)
