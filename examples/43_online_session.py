"""An analyst asks about a database one question at a time; most answers cost nothing.

Private multiplicative weights keeps a public estimate of the data and reads the data only when a
secret test says that the estimate is off.  Questions may depend on earlier answers.
"""

from pathlib import Path

import altair as alt

import discreet as dc
from discreet.data import Boolean, Domain, Histogram
from discreet.queries import marginals
from discreet.release import PrivateMultiplicativeWeights

DOMAIN = Domain(
    {name: Boolean() for name in ("smokes", "drinks", "runs", "old", "insured", "urban", "parent", "votes")}
)
PEOPLE = 2_000_000

data = Histogram.random(DOMAIN, n=PEOPLE, seed=1)
weights = PrivateMultiplicativeWeights(DOMAIN, n=PEOPLE, budget=dc.ApproxDP(1.0, 1e-6), queries=1000)
print(
    f"at most {weights.accuracy() / PEOPLE:.1%} off, for {weights.queries} adaptive questions, or one in twenty fails"
)

session = weights.open(data)  # the whole price is due here
questions = marginals(DOMAIN, 2)
truth = questions.answer(data)
worst, steps = 0.0, []
for question, true in zip(questions, truth, strict=True):
    steps.append({"asked": session.asked, "read": session.updates})
    worst = max(worst, abs(session.ask(question) - true))
print(f"{session.asked} answers, {session.updates} of them read from the data, largest error {worst / PEOPLE:.1%}")

estimate = questions.answer(session.histogram)  # post-processing: ask it as often as you like
print(f"the public histogram is off by {abs(estimate - truth).max() / PEOPLE:.1%} at most on the same questions")

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=steps), title="Questions asked, and answers read from the data").mark_line()
chart.encode(x="asked:Q", y=alt.Y("read:Q", title="read from the data")).save("out/43_online_session.svg")
