"""Twenty columns, a trillion cells, and rows of them: a graphical model fitted to noisy tables.

Only the nineteen tables of neighbouring columns are measured.  The model makes them consistent, answers about pairs
never measured, and draws synthetic rows.  All of it is post-processing: the price is that of the measurements.
"""

import itertools
from pathlib import Path

import altair as alt
import numpy as np

from discreet.data import Domain, Integer, Records
from discreet.privacy import ZCDP
from discreet.queries import marginals
from discreet.release import IndependentNoise, Measurement, estimate, junction_size

rng = np.random.default_rng(0)
names = [f"q{i}" for i in range(20)]
domain = Domain({name: Integer(0, 3) for name in names})
columns = [rng.integers(0, 4, 20_000)]
for _ in names[1:]:  # each answer is the one before it, or a new one
    columns.append(np.where(rng.random(20_000) < 0.8, columns[-1], rng.integers(0, 4, 20_000)))
people = Records(domain, columns)

pairs = list(itertools.pairwise(names))
print(f"{domain.size:.1e} possible rows, {junction_size(domain, pairs)} cells in the model")

workload = marginals(domain, pairs)
noisy = IndependentNoise(workload, budget=ZCDP(0.01))
release = noisy(people)
sd = float(np.sqrt(noisy.variances()[0]))
tables = workload.tables(release.answers)

fitted = estimate(domain, [Measurement(pair, tables[pair], sd) for pair in pairs])
print(f"{release.privacy()}: noise of sd {sd:.0f}; least squares {fitted.loss:.0f}, certainly within {fitted.gap:.1f}")

for pair in (names[0], names[1]), (names[0], names[5]):
    true = people.marginal(pair)
    print(
        f"{pair}: mean error of the model {np.abs(fitted.model.marginal(pair) - true).mean():5.1f} of {true.mean():.0f}"
    )

rows = fitted.model.sample(20_000)
agree = np.mean(rows.column("q0") == rows.column("q2"))
print(f"q0 = q2 in {agree:.1%} of the synthetic rows and {np.mean(columns[0] == columns[2]):.1%} of the people")

Path("out").mkdir(exist_ok=True)
far, first = range(1, 20), rows.column("q0")
shown = [{"gap": k, "agree": float(np.mean(columns[0] == columns[k])), "who": "people"} for k in far]
shown += [{"gap": k, "agree": float(np.mean(first == rows.column(f"q{k}"))), "who": "synthetic"} for k in far]
chart = alt.Chart(alt.Data(values=shown), title="How often the first answer is also the k-th").mark_line(point=True)
chart.encode(x="gap:Q", y="agree:Q", color=alt.Color("who:N", title=None)).save("out/50_graphical_model.svg")
