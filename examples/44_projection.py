"""More queries than people: noise on every answer, and then the nearest answers that some people could give.

All 3-way marginals of eight bits for five hundred people.  Projection costs no privacy.
"""

from pathlib import Path

import altair as alt
import numpy as np

import discreet as dc
from discreet.data import Boolean, Domain, Histogram
from discreet.queries import marginals
from discreet.release import IndependentNoise, LeastSquaresProjection, SmallDatabase

DOMAIN = Domain({f"b{i}": Boolean() for i in range(8)})
PEOPLE = 500

data = Histogram.random(DOMAIN, n=PEOPLE, seed=1)
workload = marginals(DOMAIN, 3)
truth = workload.answer(data)
budget = dc.ZCDP(0.05)


def rms(answers: np.ndarray) -> float:
    return float(np.sqrt(np.mean((answers - truth) ** 2)))


noisy = IndependentNoise(workload, budget=budget, n=PEOPLE)
nearest = LeastSquaresProjection(workload, budget=budget, n=PEOPLE)
release = nearest(data)
raw = noisy(data).answers
print(f"{len(workload)} queries about {PEOPLE} people")
print(f"independent noise   rms error {rms(raw):6.1f}")
print(
    f"nearest answers     rms error {rms(release.answers):6.1f}, proven below {nearest.mean_squared_error() ** 0.5:.1f}"
)
print(f"as a histogram of {round(release.histogram.n)} people, none of them negative")

small = Domain({"age": dc.Integer(0, 4)})
tiny = SmallDatabase(marginals(small, 1), n=1000, budget=dc.PureDP(1.0), rows=30)
print(f"small database: one of {tiny.candidates_listed} datasets of 30 rows, within {tiny.accuracy():.0f} of 1000")
print(tiny(Histogram.random(small, n=1000, seed=1)).answers.round(1))

Path("out").mkdir(exist_ok=True)
rows = [
    {"error": float(value - true), "answers": name}
    for name, answers in (("noisy", raw), ("nearest", release.answers))
    for value, true in zip(answers, truth, strict=True)
]
chart = alt.Chart(alt.Data(values=rows), title="448 answers about 500 people").mark_bar(opacity=0.6)
x = alt.X("error:Q", bin=alt.Bin(maxbins=60))
chart.encode(x=x, y=alt.Y("count()", stack=None, title="answers"), color="answers:N").save("out/44_projection.svg")
