"""Two attacks that need no cleverness: ask again and average, and try every table.

A count answered ten thousand times with fresh noise is known.  And where every subset count of twelve people is within
one of the truth, every table that fits differs from theirs in fewer than four: try all of them.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.attacks import all_subsets, reconstruct
from discreet.attacks.averaging import average, guessing_error
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Laplace

# --8<-- [start:averaging]
count = Laplace(epsilon=0.1, sensitivity=1)
for times in (1, 100, 10_000):
    print(f"{times:6} answers: {average(count, 1234, times, rng=SeededRandom(times)):.1f}, truly 1234")
rows = [{"answers": k, "wrong": guessing_error(1, k)} for k in range(1, 41)]
# --8<-- [end:averaging]

# --8<-- [start:exhaustion]
generator = np.random.default_rng(1)
secret = generator.integers(0, 2, 12)
subsets = all_subsets(12)
answers = subsets @ secret + generator.integers(-1, 2, len(subsets))
found = reconstruct(subsets, answers, method="exhaustive")
wrong = round(found.wrong(secret) * 12)
print(f"4,096 counts of 12 people, each off by at most 1: {wrong} bits wrong, and never more than 3")
# --8<-- [end:exhaustion]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=rows), title="Is one person in?  Epsilon 1 each time").mark_line(point=True)
chart.encode(x="answers:Q", y=alt.Y("wrong:Q", title="best guess is wrong")).save("out/97_averaging_and_exhaustion.svg")
