"""The shuffle model: the same local reports in a random order are worth a much smaller central epsilon."""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.local import RandomizedResponse, Shuffler, shuffled

# --8<-- [start:table]
print("local epsilon 1, delta 1e-6: the central epsilon after shuffling")
print(f"{'users':>9}{'closed form':>13}{'any':>9}{'bits':>9}{'10 values':>11}")
bits, ten = RandomizedResponse(epsilon=1, size=2), RandomizedResponse(epsilon=1, size=10)
shown = []
for n in (1_000, 10_000, 100_000):
    old = shuffled(1.0, n, 1e-6, method="closed form").epsilon
    found = [shuffled(1.0, n, 1e-6, randomizer=r).epsilon for r in (None, bits, ten)]
    kinds = ("closed form", "any", "bits", "10 values")
    shown += [{"users": n, "epsilon": e, "by": k} for k, e in zip(kinds, [old, *found], strict=True)]
    print(f"{n:9,}{old:13.4f}{found[0]:9.4f}{found[1]:9.4f}{found[2]:11.4f}")
# --8<-- [end:table]

# --8<-- [start:shuffler]
values = np.random.default_rng(0).integers(0, 10, 50_000)
shuffler = Shuffler(ten, n=50_000)
for batch in np.array_split(ten.client().report(values), 10):
    shuffler.add(batch)  # nothing is handed over before all are in
server = ten.server()
server.add(shuffler.release())
print(f"\nestimates within {server.error(0.05).max():.4f}; {ten.privacy()} at home, {shuffler.privacy(1e-6)} after")
# --8<-- [end:shuffler]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=shown), title="Local epsilon 1, after shuffling").mark_line(point=True)
x, y = (alt.X("users:Q", scale=alt.Scale(type="log")), alt.Y("epsilon:Q", scale=alt.Scale(type="log")))
chart.encode(x=x, y=y, color="by:N").save("out/82_shuffle.svg")
