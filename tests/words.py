"""A source of words that gives the same in each run: a test of a band that passes with them fails by no chance."""

import numpy as np

from udfs.randomness import Words


def same_words(seed: int = 1) -> Words:
    """A source of its own for each call."""
    return np.random.default_rng(seed).bytes
