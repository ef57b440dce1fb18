"""The protocols under test, and how their reports are named in `law`."""

from __future__ import annotations

import numpy as np

from discreet.local import (
    DuchiVector,
    HadamardResponse,
    HybridMean,
    LaplaceMean,
    OneBitMean,
    OptimalLocalHashing,
    OptimalUnaryEncoding,
    PiecewiseMean,
    PrivUnit,
    PrivUnitG,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
    SymmetricUnaryEncoding,
)
from discreet.local.wire import Masks

MASKS = [SymmetricUnaryEncoding, OptimalUnaryEncoding, SubsetSelection]
CODES = [RandomizedResponse, OptimalLocalHashing, HadamardResponse, ProjectiveGeometryResponse]
ORACLES = CODES + MASKS
MEANS = [OneBitMean, LaplaceMean, PiecewiseMean, HybridMean]
VECTORS = [DuchiVector, PrivUnit, PrivUnitG]
SIMPLE = (  # one small protocol of every kind
    [kind(epsilon=1, size=5) for kind in ORACLES]
    + [kind(epsilon=1) for kind in MEANS]
    + [kind(epsilon=1, dimension=3) for kind in VECTORS]
)


def named(protocol, reports) -> list:
    """Reports as `law` names them."""
    if not isinstance(protocol.form, Masks):
        return reports.tolist()
    numbers = [int(row[0]) for row in reports]
    if isinstance(protocol, SubsetSelection):
        return [frozenset(x for x in range(protocol.size) if number >> x & 1) for number in numbers]
    return numbers


def tally_of(protocol, name) -> np.ndarray:
    """What one report of this name adds to a server."""
    if isinstance(protocol.form, Masks):
        number = sum(1 << x for x in name) if isinstance(name, frozenset) else name
        return protocol.tally(np.array([[number]], dtype=np.uint64))
    return protocol.tally(np.array([name]))


def some_values(protocol, n: int) -> np.ndarray:
    """n values that the protocol takes, made up."""
    rng = np.random.default_rng(5)
    if hasattr(protocol, "size"):
        return rng.integers(0, protocol.size, n)
    if hasattr(protocol, "dimension"):
        rows = rng.normal(size=(n, protocol.dimension))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) * rng.random((n, 1))
    return rng.uniform(-1, 1, n)
