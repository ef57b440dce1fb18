"""The rows of these checks: a million of them whose label follows from their columns, and a permutation of them."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data.columns import Categorical, Integer, Real
from discreet.data.domain import Domain

N, FEW, FITTED = 1_000_000, 100, 20_000
WARDS = ["a", "b", "c"]
DOMAIN = Domain({"age": Integer(0, 99), "cost": Real(0, 100, step="0.5"), "ward": Categorical(WARDS)})


@functools.cache
def table(rows: int = N) -> pa.Table:
    """The columns of the domain, the label, the value and the unit; nothing is sorted."""
    rng = np.random.default_rng(rows)
    age, ward = rng.integers(0, 100, rows), rng.integers(0, 3, rows)
    cost = rng.integers(0, 201, rows) / 2
    return pa.table(
        {
            "age": age,
            "cost": cost,
            "ward": pa.DictionaryArray.from_arrays(pa.array(ward, pa.int8()), pa.array(WARDS)).cast(pa.string()),
            "label": (age > 50).astype(np.int64),
            "value": cost / 2,
            "who": rng.integers(0, max(rows // 4, 1), rows),
        }
    )


@functools.cache
def order(rows: int = N) -> npt.NDArray[np.int64]:
    """A permutation."""
    return np.random.default_rng(7).permutation(rows)


def in_chunks(rows: pa.Table, parts: int = 10) -> pa.Table:
    """The same rows in chunks of different lengths, one of them empty."""
    edges = [0, 0, *(rows.num_rows * k * k // parts**2 for k in range(1, parts + 1))]
    return pa.concat_tables([rows.slice(a, b - a) for a, b in itertools.pairwise(edges)])
