"""All pairs of a hundred answers, and any conjunction of eight, each from one release.

A survey has a hundred yes-and-no answers.  All 4,950 correlations come from noise that is then projected on what
correlations can be; every "all of these" and "any of these" of up to eight answers comes from a summary of small sets.
"""

import math
from pathlib import Path

import altair as alt
import numpy as np

import discreet as dc
from discreet.structured import ChebyshevConjunctions, ParityProjection

# --8<-- [start:make]
rng = np.random.default_rng(0)
taste = rng.random((2_000, 1))  # people differ, so their answers are related
answers = rng.random((2_000, 100)) < 0.2 + 0.75 * taste
signs = np.where(answers, 1, -1)
budget = dc.ApproxDP(1.0, 1e-6)
# --8<-- [end:make]

# --8<-- [start:parities]
projection = ParityProjection(d=100, n=2_000, budget=budget)
print(projection.explain())
release = projection(signs)
# --8<-- [end:parities]

true = (signs.T @ signs)[np.triu_indices(100, 1)] / 2_000
raw = projection.sd / 2_000
error = float(np.sqrt(((release.answers - true) ** 2).mean()))
print(f"error of a correlation: {raw:.3f} raw, {error:.3f} projected, at most {release.rms():.3f} with 95 %")
assert error < raw / 1.5

# --8<-- [start:conjunctions]
few = np.repeat(answers[:, :30], 50, axis=0)  # thirty answers of a hundred thousand people
summarise = ChebyshevConjunctions(d=30, t=8, alpha=0.02, budget=budget)
summary = summarise(few)
all_yes = summary.answer(dict.fromkeys(range(8), True))
any_of_them = summary.answer({**dict.fromkeys(range(7), False), 7: True}, of="disjunction")
# --8<-- [end:conjunctions]

questions = 2 * sum(math.comb(30, r) * 2**r for r in range(1, 9))
print(f"{len(summary):,} counts of at most {summarise.degree} answers, from which {questions:,} questions are answered")
print(f"yes to all of eight:        {all_yes:8.0f}   true {few[:, :8].all(axis=1).sum()}")
held = ~few[:, :7].all(axis=1) | few[:, 7]
print(f"one of seven no, or a yes:  {any_of_them:8.0f}   true {held.sum()}")
print(f"no answer is off by more than {summary.accuracy():.0f} of {summary.n:.0f}, with 95 %")
Path("out").mkdir(exist_ok=True)
errors = {"projected": release.answers - true, "noise alone": rng.normal(0, raw, len(true))}
shown = alt.Data(values=[{"which": name, "error": float(e)} for name, some in errors.items() for e in some[::5]])
chart = alt.Chart(shown, title="Errors of the correlations of all pairs", width=400, height=220)
x = alt.X("error:Q", bin=alt.Bin(maxbins=60), title="error of a correlation")
bars = chart.mark_bar(opacity=0.6).encode(x=x, y=alt.Y("count()", stack=None, title="pairs"), color="which:N")
bars.save("out/47_parities_and_conjunctions.svg")
