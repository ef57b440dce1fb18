"""Learning a parity: linear algebra over two elements, private because every row may be left out.

No learner from statistical queries can do this in less than exponential time, and no local protocol either.
"""

from pathlib import Path

import altair as alt

# --8<-- [start:learn]
import numpy as np

from discreet.learning import ParityLearner

rng = np.random.default_rng(0)
secret = rng.integers(0, 2, 40)
bits = rng.integers(0, 2, (4000, 40))
labels = bits @ secret % 2

learner = ParityLearner(epsilon=1.0).fit(bits, labels)
print("found:", learner.parity_ is not None and bool((learner.parity_ == secret).all()), learner.privacy())
# --8<-- [end:learn]

# --8<-- [start:coins]
print(
    f"a row is used with probability {float(learner.keep):.4f}; each of {learner.blocks} blocks says nothing", end=" "
)
print(f"with probability {float(learner.abort):.4f}, and {sum(a is None for a in learner.answers_)} did")
# --8<-- [end:coins]

# --8<-- [start:size]
for n in (4_000, 40_000, 400_000):
    error = learner.accuracy(beta=0.05, d=1000, n=n)
    print(f"{n:7,} rows of 1,000 bits: an error of {error:.3f}" if error < 0.5 else f"{n:7,} rows are too few")
# --8<-- [end:size]

# --8<-- [start:replaced]
public = ParityLearner(epsilon=1.0, n=4000).fit(bits, labels)  # n is public: one row is replaced
print(public.relation.__name__, f"{float(public.keep):.4f}", f"{float(public.abort):.4f}")
# --8<-- [end:replaced]

Path("out").mkdir(exist_ok=True)
rows = [
    {"rows": n, "error": learner.accuracy(beta=0.05, d=1000, n=n)} for n in range(40_000, 400_001, 20_000)
]  # of those that are enough
chart = alt.Chart(alt.Data(values=rows), title="A parity of 1,000 bits, epsilon 1").mark_line(point=True)
chart.encode(x="rows:Q", y=alt.Y("error:Q", title="error at most, 19 times of 20")).save("out/61_parity.svg")
