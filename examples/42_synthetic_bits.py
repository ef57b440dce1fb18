"""A million possible patients: the worst-answered tables are measured, and synthetic rows come out.

Twenty yes-or-no columns, 2^20 possible rows, all 190 tables of two columns.  MWEM measures thirty tables, each the
one that its estimate answers worst so far, and then answers everything from the estimate, tables it never saw included.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.data import Boolean, Domain, Histogram
from discreet.privacy import ZCDP
from discreet.queries import marginals
from discreet.release import MWEM
from discreet.release.models.dense import rows_needed

domain = Domain({f"b{i}": Boolean() for i in range(20)})
patients = Histogram.random(domain, n=100_000, seed=1)

# [start:mwem]
tables = marginals(domain, 2)
mwem = MWEM(tables, n=100_000, budget=ZCDP(0.1), rounds=30)
release = mwem(patients)
people = release.model.sample(rows_needed(len(tables), alpha=0.01, beta=0.05))  # type: ignore[union-attr]
# [end:mwem]

true = tables.answer(patients)


def variation(answers: np.ndarray) -> float:
    """The mean over the tables of the total variation between what is said and what is true."""
    return float(np.abs(answers / answers[:4].sum() - true / 100_000).reshape(-1, 4).sum(axis=1).mean() / 2)


print(mwem, release.privacy())
print(f"uniform guess    {variation(np.full(len(tables), 25_000.0)):.4f}")
print(f"{'MWEM':<16} {variation(release.answers):.4f}")
print(f"{len(people):,} rows drawn {variation(tables.answer(people)):.4f}")

triple = marginals(domain, [["b0", "b1", "b2"]])
print("\na table of three columns, never measured:")
print("private", release.answer(triple).round().astype(int))
print("true   ", triple.answer(patients))

Path("out").mkdir(exist_ok=True)
shown = [{"true": float(t), "private": float(a)} for t, a in zip(true, release.answers, strict=True)]
chart = alt.Chart(alt.Data(values=shown), title="760 cells: the truth and what MWEM says").mark_circle(size=12)
chart.encode(x="true:Q", y="private:Q").properties(width=320, height=320).save("out/42_synthetic_bits.svg")
