"""A sweep over budgets, and what must hold of it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import DiscreetError
from discreet.hazmat.entropy import SeededRandom
from tests.scale import FULL, counts
from tests.sweeps.estimators import KINDS, Swept

BUDGETS = tuple(f"1e{power}" for power in range(-6, 7)) if FULL else ("1e-6", "0.1", "1", "10", "1000", "1e6")
RATIO = 2.0  # of a stated error to the observed 95 % quantile
MANY = 20  # runs from which on a quantile means something


@dataclass(frozen=True)
class At:
    """What a budget gave: errors of several runs, and what was stated."""

    budget: str
    n: int
    errors: tuple[float, ...]
    stated: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.errors))

    @property
    def spread(self) -> float:
        return max(self.errors) - min(self.errors)


def sweep(one: Swept, kind: str, n: int, *, budgets: tuple[str, ...] = BUDGETS, runs: int | None = None) -> list[At]:
    """Every budget that is served; a refusal names its rule, and anything else that is raised is a flaw."""
    runs = runs or (counts(quick=3, full=10) if one.slow else counts(quick=MANY, full=60))
    found = []
    for budget in budgets:
        try:
            drawn = [one.run(KINDS[kind](budget), n, SeededRandom(seed)) for seed in range(runs)]
        except DiscreetError as refusal:
            assert any(word in str(refusal) for word in ("need", "take", "too small", "smaller", "at most")), refusal  # noqa: PT017
            continue
        said = tuple(stated for _, stated in drawn if stated is not None)
        found.append(At(budget, n, tuple(error for error, _ in drawn), said))
    assert found, "no budget is served"
    return found


def flaws(one: Swept, found: list[At]) -> list[str]:
    """What does not hold: empty where all of it does."""
    wrong = [f"not a number at {at.budget}" for at in found if not all(map(math.isfinite, (*at.errors, *at.stated)))]
    for before, after in itertools.combinations(found, 2):
        if after.mean > before.mean + before.spread + after.spread + one.left(before.n):
            wrong.append(f"error {before.mean:.3g} at {before.budget} and {after.mean:.3g} at {after.budget}")
    if float(found[-1].budget) > 1 and found[-1].mean > (one.left(found[-1].n) or 0.01):
        wrong.append(f"an error of {found[-1].mean:.3g} is left at {found[-1].budget}")
    for before, after in itertools.pairwise([at for at in found if at.stated]):
        if np.mean(after.stated) > 1.05 * np.mean(before.stated) + 1e-4:
            wrong.append(f"{np.mean(before.stated):.3g} stated at {before.budget}, {np.mean(after.stated):.3g} after")
    for at in found:
        if at.stated and len(at.errors) >= MANY and not one.forced:
            often = float(np.quantile(at.errors, 0.95))
            if np.mean(at.stated) > RATIO * often + 1:
                wrong.append(f"{np.mean(at.stated):.3g} stated for {often:.3g} at {at.budget}")
    return wrong


def growth(one: Swept, few: list[At], many: list[At]) -> list[str]:
    """Where an error is larger with more rows, beyond its spread and what is declared: empty where it never is."""
    wrong = []
    for before, after in ((a, b) for a in few for b in many if a.budget == b.budget):
        may = (before.mean + before.spread + one.left(before.n)) * (after.n / before.n) ** one.grows
        if after.mean > may + after.spread:
            wrong.append(f"{before.mean:.3g} of {before.n} rows, {after.mean:.3g} of {after.n}, at {after.budget}")
    return wrong
