"""Curves of a composition as arrays, and as CSV: the privacy profile, the loss distribution, the Renyi curve.

What they are and how they compose: docs/theory/accounting.md.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from discreet.composition.choose import best
from discreet.composition.concentrated import ORDERS, renyi_curve
from discreet.composition.losses import losses
from discreet.composition.numerical import composed_masses, lattice
from discreet.composition.price import Item, gather
from discreet.errors import require
from discreet.privacy.number import Number, exact, up

Columns = Mapping[str, Sequence[float]]


def profile(items: Iterable[Item], deltas: Sequence[Number]) -> dict[str, list[float]]:
    """The least epsilon we can prove at each delta.

    >>> from discreet.privacy.guarantee import ZCDP
    >>> [round(x, 4) for x in profile([ZCDP(0.5)], [1e-6])["epsilon"]]
    [5.2215]
    """
    given = list(items)
    epsilons = [up(exact(best(given, delta).epsilon)) for delta in deltas]
    return {"delta": [float(exact(delta)) for delta in deltas], "epsilon": epsilons}


def renyi_columns(items: Iterable[Item], orders: Sequence[int] = ORDERS) -> dict[str, list[float]]:
    """An upper bound on the Renyi divergence at each order.

    >>> from discreet.privacy.event import GaussianEvent
    >>> renyi_columns([GaussianEvent(sigma=10, sensitivity=1)], [2, 4])
    {'order': [2.0, 4.0], 'epsilon': [0.0100000000001, 0.0200000000002]}
    """
    return {"order": [float(order) for order in orders], "epsilon": renyi_curve(items, orders)}


def loss_columns(items: Iterable[Item]) -> dict[str, list[float]]:
    """The composed privacy-loss distribution on its lattice; the last row is the infinite loss.

    It is that of the data with the unit against those without it; where mechanisms sample, the other one differs.

    >>> from discreet.privacy.event import PureEvent
    >>> columns = loss_columns([PureEvent(epsilon=1)])
    >>> {name: len(values) > 2 for name, values in columns.items()}
    {'loss': True, 'mass': True}
    """
    batch = gather(items)
    require(len(batch.counts) > 0, "at least one mechanism", mechanisms=0)
    step = lattice(batch)
    found = [(losses(leaf, step), count) for leaf, count in batch.counts.items()]
    shift = sum(single.shift * count for single, count in found)
    at, masses, infinite = composed_masses([(single.forward, count) for single, count in found], step)
    return {"loss": [*(at + shift).tolist(), float("inf")], "mass": [*masses.tolist(), infinite]}


def write_csv(path: str | Path, columns: Columns) -> None:
    """Write equally long columns under their names.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "renyi.csv"
    >>> write_csv(file, {"order": [2, 4], "divergence": [0.01, 0.02]})
    >>> file.read_text().splitlines()
    ['order,divergence', '2,0.01', '4,0.02']
    """
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
