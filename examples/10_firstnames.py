"""Ten thousand first names: the error that epsilon = 1 buys for the whole histogram.

The notes ask for 99 % confidence that every one of the 10,000 counts is right to within alpha.
Changing one person's name moves two counts by one, so the l1 sensitivity is 2.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Laplace

NAMES, BETA = 10_000, 0.01
laplace = Laplace(epsilon=1, sensitivity=2)

counts = np.random.default_rng(1).zipf(1.6, NAMES).clip(0, 10**6)  # a made-up census
noisy = laplace(counts, rng=SeededRandom(1))
errors = np.abs(noisy - counts)
alpha = laplace.accuracy(BETA, size=NAMES)

print(f"bound of the theorem  2 ln(10000 / 0.01) = {2 * np.log(NAMES / BETA):.4f}")
print(f"exact, on integers    alpha = {alpha}")
print(f"largest error seen    {errors.max()}")
print(f"one name alone        alpha = {Laplace(epsilon=1, sensitivity=1).accuracy(BETA)}")

sizes, seen = np.unique(errors, return_counts=True)
bars = alt.Chart(alt.Data(values=[{"error": int(e), "names": int(n)} for e, n in zip(sizes, seen, strict=True)]))
bound = alt.Chart(alt.Data(values=[{"alpha": alpha}])).mark_rule(color="firebrick", strokeWidth=2)
picture = bars.mark_bar().encode(
    x=alt.X("error:Q", title="absolute error of a count", scale=alt.Scale(domain=[-1, 30], nice=False)),
    y=alt.Y("names:Q", title="first names", scale=alt.Scale(type="symlog")),
) + bound.encode(x="alpha:Q")
Path("out").mkdir(exist_ok=True)
picture.properties(width=480, height=260, title="All 10,000 errors, and the 99 % bound").save("out/firstnames.svg")
