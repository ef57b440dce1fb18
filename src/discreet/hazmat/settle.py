"""Comparing a uniform real with a real number, by drawing bits of the first until it is clear.

Let U be uniform on [0, 1) with independent fair bits, and p a real number known only
through `bounds(bits)`, integers that bracket p 2^bits.  `below` decides U < p: it draws
a word, and as long as the word leaves both answers possible it draws another and asks
for tighter bounds.  Hence Pr[True] = p exactly, whatever the width of a word, and a
decision takes more than j words with probability at most (hi - lo) 2^(-width j).
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.exponent import Bounds

WIDTH = 64  # bits of a word; tests use narrow words, so that all of them can be enumerated


def below(bounds: Callable[[int], Bounds], *, rng: RandomSource, width: int = WIDTH) -> bool:
    """Whether U < p, for a fresh uniform U: an exact Bernoulli(p)."""
    return settle(rng.bits(width), width, bounds, rng=rng, step=width)


def settle(u: int, bits: int, bounds: Callable[[int], Bounds], *, rng: RandomSource, step: int = WIDTH) -> bool:
    """Whether U < p, for a U whose first `bits` bits are u; the rest are drawn as needed."""
    while True:
        low, high = bounds(bits)
        if u < low:
            return True
        if u >= high:
            return False
        u, bits = u << step | rng.bits(step), bits + step
