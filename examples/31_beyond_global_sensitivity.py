"""Three ways past the worst case: a smooth median, a tested median, and any statistic by blocks.

The global sensitivity of a median is the whole range.  On dense data the median hardly moves, and
each of these spends its epsilon on what the data at hand can do, not on what data could do.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.mechanisms import Laplace, Refused
from discreet.privacy.neighbours import Replace
from discreet.structured import SampleAndAggregate, SmoothMedian, StableMedian

rng = np.random.default_rng(0)
incomes = rng.lognormal(10, 0.5, 100_000)  # true median: about 22026
print(f"true median                 {np.median(incomes):12.2f}")

worst_case = Laplace(epsilon=1, sensitivity=200_000)
print(f"global sensitivity          {worst_case(round(np.median(incomes))):12.2f}")

smooth = SmoothMedian(epsilon=1, lower=0, upper=200_000, step=0.01)
print(f"smooth sensitivity          {smooth(incomes):12.2f}   {smooth.privacy()}")

stable = StableMedian(epsilon=1, delta=1e-6, bound=20, lower=0, upper=200_000, step=0.01)
print(f"propose, test, release      {stable(incomes):12.2f}   {stable.privacy()}")

few = incomes[:30]
answer = stable(few)
print(f"the same on thirty rows     {answer!r:>12}   refusing is an answer, and is paid for")
assert isinstance(answer, Refused)


def gini(part: np.ndarray) -> float:
    """A statistic whose sensitivity nobody wants to work out."""
    ordered = np.sort(part)
    ranks = np.arange(1, part.size + 1)
    return float(2 * (ranks * ordered).sum() / (part.size * ordered.sum()) - (part.size + 1) / part.size)


blocks = SampleAndAggregate(
    statistic=gini,
    blocks=200,
    aggregate=SmoothMedian(epsilon=1, lower=0, upper=1, step=0.0001, neighbours=Replace),
)
print(f"true Gini coefficient       {gini(incomes):12.4f}")
print(f"sample and aggregate        {blocks(incomes):12.4f}   {blocks.privacy()}")

Path("out").mkdir(exist_ok=True)
true = float(np.median(incomes))
found = {"global sensitivity": worst_case(round(true)), "smooth sensitivity": smooth(incomes)}
found |= {"propose, test, release": stable(incomes)}
rows = [{"way": way, "error": max(0.01, abs(float(value) - true))} for way, value in found.items()]
chart = alt.Chart(alt.Data(values=rows), title="Error of one median, epsilon 1").mark_bar()
x = alt.X("error:Q", title="error", scale=alt.Scale(type="log"), stack=None)
chart.encode(x=x, x2=alt.datum(0.01), y=alt.Y("way:N", sort=None, title=None)).save(
    "out/31_beyond_global_sensitivity.svg"
)
