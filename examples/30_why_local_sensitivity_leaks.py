"""Why noise must not be scaled to the local sensitivity: the size of the noise is an answer too.

Five salaries, of which Ada's is the only large one: whoever changes one of them, the median stays
at 50.  If Ben's were large as well, one more change could move it to 1000.  Noise scaled to what
one change can do tells the two cases apart at a glance; noise scaled to the smooth sensitivity,
which looks at what two, three and more changes could do, does not.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.samplers import discrete_laplace
from discreet.privacy.neighbours import Replace
from discreet.structured import SmoothMedian

EPSILON, RUNS = 1, 20_000
SALARIES = {"Ben earns 50": [50, 50, 50, 50, 1000], "Ben earns 1000": [50, 50, 50, 1000, 1000]}

smooth = SmoothMedian(epsilon=EPSILON, lower=0, upper=1000, step=1, neighbours=Replace)


def local_noise(rows: list[int]) -> np.ndarray:
    """The median plus Laplace noise for what one changed row can do: the broken way."""
    ordered = sorted(rows)
    local = max(ordered[3] - ordered[2], ordered[2] - ordered[1])
    if local == 0:
        return np.full(RUNS, ordered[2])
    return ordered[2] + np.asarray(discrete_laplace(local, shape=(RUNS,), rng=SeededRandom(1)))


answers = {
    (how, case): np.asarray(release(rows))
    for case, rows in SALARIES.items()
    for how, release in {
        "local sensitivity": local_noise,
        "smooth sensitivity": lambda rows: smooth.releases(rows, RUNS, rng=SeededRandom(2)),
    }.items()
}
for (how, case), released in answers.items():
    print(f"{how:<19} {case:<15} the answer is 50 in {np.mean(released == 50):7.2%} of runs")

bars = [
    {"noise": how, "case": case, "answer": low, "share": float(np.mean((low <= found) & (found < low + 100)))}
    for (how, case), found in answers.items()
    for low in range(-1000, 2000, 100)
]
bar = alt.Chart(alt.Data(values=bars)).mark_bar(opacity=0.6)
share = alt.Y("share:Q", title="share of runs", stack=None)
picture = bar.encode(x=alt.X("answer:Q", title="released median"), y=share, color="case:N", column="noise:N")
Path("out").mkdir(exist_ok=True)
picture.properties(width=280, height=200).save("out/local_sensitivity.svg")
