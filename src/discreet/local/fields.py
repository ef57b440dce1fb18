"""Finite fields as tables, for hashing and for projective geometry.

A field of p^r elements is the polynomials of degree below r over the integers modulo p, modulo a polynomial
that makes every nonzero row of the product table a permutation; the integer with base-p digits c_0, c_1, ... stands
for c_0 + c_1 X + ...  That the tables are those of a field is checked when they are made.

Theorem.  For x != x' in F^m and a uniform in F^m, a . (x - x') is uniform on F.  So the hashes x -> a . x have
exactly uniform differences: two values collide with probability 1 / |F|, and no seed is special but by chance.

`hyperplane_sums` turns counts C[a, y] into S[x] = sum over a of C[a, a . x] for all x at once, digit by digit, in
m |F|^(m + 2) steps instead of |F|^(2 m).  Proof: docs/theory/frequency_oracles.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from discreet.errors import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Table = npt.NDArray[np.int16]
    Counts = npt.NDArray[np.int64]

LARGEST = 2048  # elements
LARGEST_POWER = 64  # of a field that is not prime
WORK = 1 << 30  # additions that decoding may take
CELLS = 1 << 24  # counts that a server may keep


@dataclass(frozen=True, slots=True)
class Field:
    """The tables: plus[a, b], minus[a, b], times[a, b], inverse[a] (0 for a = 0)."""

    order: int
    plus: Table
    minus: Table
    times: Table
    inverse: npt.NDArray[np.int16]


@lru_cache(maxsize=1)
def orders() -> tuple[int, ...]:
    """The sizes of fields that may be used: primes, and small prime powers.

    >>> orders()[:9]
    (2, 3, 4, 5, 7, 8, 9, 11, 13)
    """
    primes = [n for n in range(2, LARGEST) if all(n % d for d in range(2, int(n**0.5) + 1))]
    powers = [p**r for p in primes if p * p <= LARGEST_POWER for r in range(2, 7) if p**r <= LARGEST_POWER]
    return tuple(sorted(primes + powers))


@lru_cache(maxsize=8)
def field(order: int) -> Field:
    """The field of this many elements.

    >>> field(4).times.tolist()
    [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]
    """
    import numpy as np

    require(order in orders(), "the size of a field", order=order)
    p = next(d for d in range(2, order + 1) if order % d == 0)
    numbers = np.arange(order)
    if p == order:
        plus, times = np.add.outer(numbers, numbers) % p, np.multiply.outer(numbers, numbers) % p
    else:
        plus, times = _power(p, order)
    assert _is_permutation(plus)
    assert _is_permutation(times[1:, 1:] - 1)
    negative = np.argmin(plus, axis=1)  # plus[a, -a] = 0
    inverse = np.append(0, 1 + np.argmin(times[1:, 1:], axis=1))
    small = np.int16
    return Field(
        order,
        np.ascontiguousarray(plus, dtype=small),
        np.ascontiguousarray(plus[:, negative], dtype=small),
        np.ascontiguousarray(times, dtype=small),
        inverse.astype(small),
    )


def _is_permutation(table: Counts) -> bool:
    import numpy as np

    return bool((np.sort(table, axis=1) == np.arange(len(table))).all())


def _power(p: int, order: int) -> tuple[Counts, Counts]:
    """The tables for p^r, with the first polynomial X^r + ... whose products have no divisors of zero."""
    import numpy as np

    r = next(r for r in range(2, 7) if p**r == order)
    weights = p ** np.arange(r)
    digits = np.arange(order)[:, None] // weights % p  # (elements, coefficients)
    plus = ((digits[:, None] + digits[None]) % p) @ weights
    for modulus in product(range(p), repeat=r):
        shifted = [digits]  # the element times X^j
        for _ in range(r - 1):
            top = shifted[-1][:, -1:]
            shifted.append((np.roll(shifted[-1], 1, axis=1) * (np.arange(r) > 0) - top * np.array(modulus)) % p)
        parts = np.stack(shifted)  # (j, elements, coefficients)
        times = (np.einsum("bj,jac->abc", digits, parts) % p) @ weights
        if _is_permutation(times[1:, 1:] - 1):
            return plus, times
    raise AssertionError("there is an irreducible polynomial of every degree")


def hyperplane_sums(counts: Counts, found: Field) -> Counts:
    """S[x] = sum over a of counts[a, a . x], for all x; vectors are integers with these digits.

    >>> import numpy as np
    >>> hyperplane_sums(np.array([[5, 0], [2, 3]]), field(2)).tolist()  # a . x is 0, 0 for x = 0 and 0, 1 for x = 1
    [7, 8]
    """
    import numpy as np

    from discreet.local.kernels import fold_last

    source = _folded(counts.ravel(), found, until=1)
    target = np.zeros(source.size // found.order, dtype=np.int64)
    fold_last(source, target, found.order, found.times)
    return target


def affine_sums(counts: Counts, found: Field) -> Counts:
    """S[x, s] = how many of `counts[a]` have a . x = -s, for all x and s."""
    import numpy as np

    source = np.zeros((counts.size, found.order), dtype=np.int64)
    source[:, 0] = counts
    return _folded(source.ravel(), found, until=0).reshape(-1, found.order)


def _folded(source: Counts, found: Field, *, until: int) -> Counts:
    """All digits but the last `until`, highest first."""
    import numpy as np

    from discreet.local.kernels import fold

    low = source.size // found.order**2
    while low >= found.order**until and low:
        target = np.zeros_like(source)
        fold(np.ascontiguousarray(source), target, found.order, low, found.times, found.minus)
        source, low = target, low // found.order
    return np.ascontiguousarray(source)
