"""Loops over the cells of a tree in machine code: cutting them, adding up what is in them, dividing counts."""

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.compiled import compiled

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@compiled
def cut(
    order: Integers, positions: Integers, begins: Integers, ends: Integers, along: Integers, cuts: Integers
) -> Integers:
    """Sort the rows of each cell into those up to its cut and those beyond; return where the latter begin.

    Args:
        order: shape (rows,): the rows cell by cell; changed in place.
        positions: shape (attributes, rows).
        begins: shape (cells,): where each cell's rows begin in ``order``.
        ends: shape (cells,): where they end.
        along: shape (cells,): the attribute that each is cut along.
        cuts: shape (cells,): the last position of the left part.

    Returns:
        Shape (cells,).
    """
    middles = np.empty(begins.size, dtype=np.int64)
    for cell in range(begins.size):
        left, right = begins[cell], ends[cell] - 1
        attribute, at = along[cell], cuts[cell]
        while left <= right:
            row = order[left]
            if positions[attribute, row] <= at:
                left += 1
            else:
                order[left] = order[right]
                order[right] = row
                right -= 1
        middles[cell] = left
    return middles


@compiled
def sums(
    order: Integers,
    positions: Integers,
    begins: Integers,
    ends: Integers,
    firsts: Integers,
    lasts: Integers,
    reach: int,
) -> Integers:
    """Add up offsets from the middle of each cell, in whole parts: a row at an end counts as +-``reach``.

    Args:
        order: shape (rows,).
        positions: shape (attributes, rows).
        begins: shape (cells,).
        ends: shape (cells,).
        firsts: shape (cells, attributes): the ends of the cells' sides; sides below 2**40 steps.
        lasts: shape (cells, attributes).
        reach: at most 2**20.

    Returns:
        Shape (cells, attributes).
    """
    result = np.zeros(firsts.shape, dtype=np.int64)
    for cell in range(begins.size):
        for attribute in range(firsts.shape[1]):
            first, last = firsts[cell, attribute], lasts[cell, attribute]
            length = last - first
            if length == 0:
                continue
            total = 0
            for place in range(begins[cell], ends[cell]):
                twice = 2 * positions[attribute, order[place]] - first - last
                total += (2 * twice * reach + length) // (2 * length)
            result[cell, attribute] = total
    return result


@compiled
def share(totals: Floats, begins: Integers, found: Floats, variances: Floats, sure: float) -> Floats:
    """Divide the count of each cell among its parts, in proportion to what was found for them.

    Parts found smaller than ``sure`` standard deviations get nothing; where all are, the surest gets everything.

    Args:
        totals: shape (cells,).
        begins: shape (cells + 1,): the parts of a cell are a range of ``found``, not empty.
        found: shape (parts,).
        variances: shape (parts,).
        sure: in standard deviations.

    Returns:
        Shape (parts,).
    """
    result = np.zeros(found.size)
    for cell in range(totals.size):
        if totals[cell] > 0:
            parts = slice(begins[cell], begins[cell + 1])
            scores = found[parts] / np.sqrt(variances[parts])
            kept = np.where(scores >= sure, np.maximum(found[parts], 0.0), 0.0)
            if np.sum(kept) <= 0:
                kept[np.argmax(scores)] = 1.0
            result[parts] = kept * (totals[cell] / np.sum(kept))
    return result
