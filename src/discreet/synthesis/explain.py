"""What synthetic data would cost and how far the noise alone would put it off, from public facts.

A table of c cells whose noise has a mean absolute value a misplaces c a / (2 n) of n rows: the share of rows in the
wrong cell, half the l1 distance.  That is before the model is fitted, which can only average noise away; and of tables
that are never measured it says nothing.  `simulated` runs the whole synthesizer on made-up rows instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from discreet.data.records import Records
from discreet.errors import require
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import exact
from discreet.release.noise import Noise, variance
from discreet.synthesis.adaptive import NOISE
from discreet.synthesis.resolution import COARSE

if TYPE_CHECKING:
    from discreet.synthesis.synthesizer import Synthesizer

GUESSES = (1000, 10_000, 100_000, 1_000_000)  # rows, where nobody says how many there are


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """A synthesizer in words: `str` prints it.

    `columns` is the mean share of rows that the noise of a single column misplaces, by number of rows, where columns
    are measured by themselves; `pairs` that of a pair of columns once it is measured, by number of rows and of bins.
    """

    synthesizer: Synthesizer
    steps: tuple[str, ...]
    columns: Mapping[int, float]
    pairs: Mapping[int, Mapping[int | None, float]]

    def simulated(self, n: int, *, seed: int = 0) -> tuple[float, float]:
        """Mean total variation of columns and of pairs, when the synthesizer is run on n made-up rows of its domain.

        A synthesizer with a public number of rows is run on as many.
        """
        from discreet.synthesis.quality_tables import distances

        require(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer n >= 1", n=n)
        encoding, n = self.synthesizer.encoding, self.synthesizer.n or n
        rows = Records.random(encoding.domain, n, seed=seed)
        made = self.synthesizer.fit(rows, rng=SeededRandom(seed))
        found = distances(made.model.sample(n, rng=SeededRandom(seed + 1)), encoding.encode(rows), [])
        return found[0].mean, found[1].mean if len(found) > 1 else 0.0

    def __str__(self) -> str:
        made = self.synthesizer
        who = "unit" if made.rows_per_unit > 1 else "row"
        rows = f" of at most {made.rows_per_unit} rows" if made.rows_per_unit > 1 else ""
        text = [f"{len(made.domain)} columns by {made.method}: {made.privacy()!r} for one {who}{rows}"]
        text += [f"  {step}" for step in self.steps]
        for n in self.columns or self.pairs:
            shown = [f"{self.columns[n]:.2%} of a column"] if self.columns else []
            shown += [f"{share:.2%} of a pair {_bins(bins)}" for bins, share in self.pairs.get(n, {}).items()]
            text.append(f"  of {n:,} rows the noise misplaces {', '.join(shown)}")
        return "\n".join([*text, "  nothing was read, nothing was spent"])


def explain(synthesizer: Synthesizer, *, n: int | None = None) -> Explanation:
    """Explain a synthesizer for a public guess of the number of rows, or for several."""
    if n is not None:
        require(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer n >= 1", n=n)
    guesses = GUESSES if n is None else (n,)
    if synthesizer.method == "mwem":
        mwem = synthesizer.mwem
        steps = (
            f"one weight for each of {synthesizer.encoding.coarse.size:,} combinations of values",
            f"{mwem.rounds} rounds: choose a table (exponential mechanism, epsilon {_number(mwem.choice.epsilon)}),"
            f" measure it ({_law(mwem.noise)})",
            f"however large the budget: {mwem.floor}",
        )
        return Explanation(
            synthesizer=synthesizer, steps=steps, columns={}, pairs=_pairs(synthesizer, mwem.noise, guesses)
        )
    plan, coarse = synthesizer.schedule, synthesizer.encoding.coarse
    spread = _singles(synthesizer)
    steps = (f"every column by itself: standard deviation {min(spread.values()):.4g} to {max(spread.values()):.4g}",)
    if plan.noise is not None and plan.choice is not None:
        steps += (
            f"{plan.rounds} rounds: choose one of {len(synthesizer.weights):,} sets of columns (exponential mechanism,"
            f" epsilon {_number(plan.choice.epsilon)}), measure it ({_law(plan.noise)})",
            f"a model of at most {synthesizer.capacity:,} cells",
        )
    steps += (f"however large the budget: {floor_of(synthesizer)}",)
    mean = math.sqrt(0.5) if isinstance(synthesizer.budget, PureDP) else NOISE
    off = fmean(coarse[name].size * sd * mean / 2 for name, sd in spread.items())
    pairs = _pairs(synthesizer, plan.noise, guesses) if plan.noise is not None else {}
    return Explanation(
        synthesizer=synthesizer, steps=steps, columns={rows: min(1.0, off / rows) for rows in guesses}, pairs=pairs
    )


def floor_of(synthesizer: Synthesizer) -> str:
    """What no budget lowers: the tables that are never measured, by the declaration alone."""
    rounds, tables = synthesizer.schedule.rounds, len(synthesizer.weights)
    if synthesizer.method == "independent":
        return "columns are made up one by one, and no relation between them is kept"
    if synthesizer.method == "tree":
        return "columns are joined by the pairs of one tree, and other relations are what follows from those"
    if rounds < tables:
        return f"{rounds} of {tables:,} tables are measured, the worst first, and others are what follows from those"
    return f"each of {tables:,} tables can be measured, as far as the model has cells"


def _singles(synthesizer: Synthesizer) -> dict[str, float]:
    """The standard deviation of a cell of each column."""
    found = synthesizer.singles
    workload = found.workload
    spread = workload.tables(found.variances() ** 0.5)  # type: ignore[union-attr]
    weights = [float(weight) for weight in workload.weights]  # type: ignore[union-attr]
    return {
        names[0]: float(table.max()) / weight for (names, table), weight in zip(spread.items(), weights, strict=True)
    }


def _pairs(synthesizer: Synthesizer, noise: Noise, guesses: tuple[int, ...]) -> dict[int, dict[int | None, float]]:
    """The mean over all pairs, for every number of bins of a column."""
    sizes = [declared.size for declared in synthesizer.encoding.coarse.values()]
    if len(sizes) < 2:
        return {}
    mean = math.sqrt(variance(noise)) * (math.sqrt(0.5) if isinstance(noise, Laplace) else NOISE)
    bins = (None,) if synthesizer.method == "mwem" else (None, *COARSE)
    cells = {
        count: fmean(min(a, count or a) * min(b, count or b) for a, b in itertools.combinations(sizes, 2))
        for count in bins
    }
    return {n: {count: min(1.0, mean * size / (2 * n)) for count, size in cells.items()} for n in guesses}


def _law(noise: Noise) -> str:
    return f"{type(noise).__name__} noise, standard deviation {math.sqrt(variance(noise)):.4g}"


def _number(value: object) -> str:
    return f"{float(exact(value)):.4g}"  # type: ignore[arg-type]


def _bins(count: int | None) -> str:
    return "in full" if count is None else f"in {count} bins"
