"""The mean of own draws and a cube, row by row."""

from math import hypot

import pyarrow as pa
import pytest

from dpproxy.algebra.plan import LAW, Fitted, Summed
from dpproxy.engine.means import PartAnswer, with_cube
from udfs.mechanisms import Laplace
from udfs.mechanisms.averaged import USUAL
from udfs.mechanisms.combination import Combination
from udfs.privacy import Loss, Released

DRAW = Laplace((1,), 10**8)
[SD] = DRAW.noise_sd()


def relation(values: list[int], laws: list[int]) -> pa.Table:
    table = pa.table({"o": range(len(values))}).append_column(LAW, pa.array(laws))
    return table.append_column("v", pa.array([[v] for v in values], pa.list_(pa.decimal128(38, 0))))


def own(*terms: int) -> Summed:
    found = Summed(DRAW, (0,), (max(terms),), (0,))
    return (
        Summed(DRAW, (0,), (max(terms),), (0,), laws=tuple(Summed(DRAW, (0,), (n,), (0,)) for n in terms))
        if len(terms) > 1
        else found
    )


def answer(summed: Summed | Fitted, values: list[int], laws: list[int]) -> PartAnswer:
    return PartAnswer(Released(relation(values, laws), Loss(10**8)), summed=summed, origins=(7,))


def test_each_row_is_weighed_by_its_own_errors():
    cube = Fitted("c", (Combination(SD, SD),), (0.5,))
    found = with_cube(answer(own(2, 4), [1000, 2000], [0, 1]), answer(cube, [1060, 2060], [0, 0]))
    assert found is not None
    assert isinstance(found.summed, Fitted)
    assert (found.summed.cube, found.summed.draws, found.origins) == ("c", 1, (7,))
    assert [int(v[0]) for v in found.released.value["v"].to_pylist()] == [
        1040,
        2048,
    ]  # two thirds, four fifths
    first, second = (law.noise[0] for law in found.summed.laws)
    assert first.sd == pytest.approx(hypot(1 / 3 * 2**0.5 * SD, 2 / 3 * SD), rel=1e-5)
    assert second.sd == pytest.approx(hypot(1 / 5 * 2 * SD, 4 / 5 * SD), rel=1e-5)
    assert found.summed.noise[0].sd == second.sd
    assert found.summed.half_width(USUAL) < cube.half_width(USUAL)


@pytest.mark.parametrize("sd", [SD / 10, 10 * SD])
def test_what_brings_next_to_nothing_is_left_out(sd: float):
    cube = Fitted("c", (Combination(sd, sd),), (0.5,))
    assert with_cube(answer(own(1), [1000], [0]), answer(cube, [1060], [0])) is None
