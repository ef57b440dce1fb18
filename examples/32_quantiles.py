"""Quantiles without candidates: any number of them at once, the way chosen before any number is read.

A salary survey: the deciles at a total epsilon of 1, the bound on their rank error, what each way of
finding them was expected to be wrong by, and the medians of four departments in one release.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.structured import GridQuantile, PrivateQuantile

generator = np.random.default_rng(7)
salaries = generator.lognormal(10.6, 0.45, 200_000).round(-1)

# [start:quantiles]
deciles = [i / 10 for i in range(1, 10)]
private = PrivateQuantile(deciles, epsilon=1.0, lower=0, upper=500_000, step=10)
print("expected error in rows:", {way: round(rows, 1) for way, rows in private.alternatives().items()})
print("at most", private.accuracy(beta=0.05), "rows of 200,000, with probability 0.95;", private.privacy())

released = np.array(private(salaries))
# [end:quantiles]

print(f"\n{'':>8}{'private':>12}{'true':>12}")
for decile, found, true in zip(deciles, released, np.quantile(salaries, deciles), strict=True):
    print(f"{decile:8.0%}{found:12,.0f}{true:12,.0f}")

# Counts on a grid are all it takes, one row of them for each group: one epsilon pays for all groups.
edges = np.arange(0, 200_001, 1000)
pay = {"clinic": 10.4, "laboratory": 10.6, "office": 10.3, "direction": 11.2}
counts = np.stack([np.histogram(generator.lognormal(mean, 0.3, 3_000), edges)[0] for mean in pay.values()])
medians = GridQuantile(quantile=0.5, epsilon=1.0, size=edges.size - 1)

print(f"\nmedians, within {medians.accuracy(size=4)} rows of 3,000 each:")
for department, cell in zip(pay, np.array(medians(counts)), strict=True):
    print(f"{department:>12}: {edges[cell]:,} to {edges[cell + 1]:,}")

Path("out").mkdir(exist_ok=True)
rows = [{"decile": d, "salary": float(np.quantile(salaries, d)), "who": "true"} for d in deciles]
rows += [{"decile": d, "salary": float(v), "who": "private"} for d, v in zip(deciles, released, strict=True)]
who = alt.Color("who:N", title=None), alt.Size("who:N", scale=alt.Scale(domain=["private", "true"], range=[30, 200]))
chart = alt.Chart(alt.Data(values=rows), title="Nine deciles for one epsilon").mark_point(strokeWidth=2)
chart.encode(x="decile:Q", y="salary:Q", color=who[0], size=who[1]).save("out/32_quantiles.svg")
