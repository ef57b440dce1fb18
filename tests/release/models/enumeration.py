"""Small domains and their distributions written out cell by cell, the slow and certain way."""

from __future__ import annotations

import itertools

import numpy as np

from discreet.data import Domain, Integer

TREE = [("a", "b"), ("b", "c"), ("b", "d"), ("d", "e")]
LOOP = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("d", "e")]
TRIPLES = [("a", "c", "e"), ("b", "c"), ("e", "d"), ("a", "d")]
APART = [("a", "c"), ("b",), ("d", "e")]
SHAPES = {"tree": TREE, "loop": LOOP, "triples": TRIPLES, "apart": APART}


def small_domain(*sizes: int) -> Domain:
    """Columns a, b, c, ... of these sizes."""
    return Domain({name: Integer(0, size - 1) for name, size in zip("abcdefgh", sizes, strict=False)})


def random_factors(domain: Domain, sets: list[tuple[str, ...]], *, seed: int, spread: float = 1.0):
    """Normal log-factors on some sets."""
    rng = np.random.default_rng(seed)
    return {names: spread * rng.normal(size=[domain[name].size for name in names]) for names in sets}


def dense(domain: Domain, factors) -> np.ndarray:
    """The exponentials of the sums of the factors, one for each cell."""
    names = list(domain)
    logs = np.zeros([declared.size for declared in domain.values()])
    for cell in itertools.product(*(range(size) for size in logs.shape)):
        place = dict(zip(names, cell, strict=True))
        for columns, table in factors.items():
            logs[cell] += table[tuple(place[name] for name in columns)]
    return np.exp(logs)


def dense_marginal(domain: Domain, cells: np.ndarray, columns) -> np.ndarray:
    """The sums over all other columns, in the order asked for."""
    names = list(domain)
    kept = [name for name in names if name in columns]
    table = cells.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in columns))
    return table.transpose([kept.index(name) for name in columns])
