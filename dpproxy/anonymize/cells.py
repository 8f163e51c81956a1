"""Compiled loops over the cells of a tree: partition the rows of cells, sum their offsets, divide their counts."""

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.compiled import compiled

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@compiled
def cut(
    order: Integers, positions: Integers, begins: Integers, ends: Integers, along: Integers, cuts: Integers
) -> Integers:
    """Partition the rows of each cell in place: first those up to its cut, then those beyond.

    Args:
        order: shape (rows,): row numbers, cell by cell; changed in place.
        positions: shape (attributes, rows).
        begins: shape (cells,): where each cell's rows begin in ``order``.
        ends: shape (cells,): where they end (exclusive).
        along: shape (cells,): the attribute that each cell is cut along.
        cuts: shape (cells,): the last position of the left part.

    Returns:
        Shape (cells,): where the rows of the right part begin in ``order``.
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
    """Sum the offsets of each cell's rows from its middle, in integers: an offset of half a side is +-``reach``.

    Args:
        order: shape (rows,): row numbers, cell by cell.
        positions: shape (attributes, rows).
        begins: shape (cells,): where each cell's rows begin in ``order``.
        ends: shape (cells,): where they end (exclusive).
        firsts: shape (cells, attributes): the first position of each side; sides are below 2**40 steps.
        lasts: shape (cells, attributes): the last position of each side.
        reach: the integer that stands for half a side; at most 2**20.

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
    """Divide the count of each cell among its parts, in proportion to the parts' noisy counts.

    A part whose noisy count is below ``sure`` standard deviations of its noise gets nothing; where that is true of all
    parts, the one with the most standard deviations gets everything.

    Args:
        totals: shape (cells,): the counts to divide; the parts of a cell with a count of 0 or less get 0.
        begins: shape (cells + 1,): where the parts of each cell begin in ``found``; every cell has a part.
        found: shape (parts,): noisy counts.
        variances: shape (parts,): of the noise of ``found``.
        sure: in standard deviations.

    Returns:
        Shape (parts,): counts, none negative, that sum to ``totals`` cell by cell.
    """
    result = np.zeros(found.size)
    for cell in range(totals.size):
        if totals[cell] > 0:
            parts = slice(begins[cell], begins[cell + 1])
            scores = found[parts] / np.sqrt(variances[parts])
            kept = np.where(scores >= sure, np.maximum(found[parts], 0.0), 0.0)
            if np.sum(kept) <= 0:
                kept[np.argmax(scores)] = 1.0
            result[parts] = kept / np.sum(kept) * totals[cell]
    return result
