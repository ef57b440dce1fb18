"""Better learners from worse ones: more certain, more private, more accurate."""

from pathlib import Path

import altair as alt

# --8<-- [start:make]
import numpy as np

import discreet as dc
from discreet.learning import Amplified, BoostedLearner, Sampled, ThresholdLearner

rng = np.random.default_rng(0)
x = rng.integers(0, 1000, 20_000)
y = x >= 300
weak = ThresholdLearner(1000, epsilon=1.0)
# --8<-- [end:make]

# --8<-- [start:confidence]
surer = Amplified(weak, blocks=5, epsilon=1.0).fit(x, y)  # five blocks learn, the other half of the rows chooses
print([learner.threshold_ for learner in surer.learners_], "chosen:", surer.best_.threshold_, surer.privacy())
# --8<-- [end:confidence]

# --8<-- [start:sample]
quieter = Sampled(weak, epsilon=0.1).fit(x, y)  # the same learner on a secret sixteenth of the rows
print(f"{float(quieter.rate):.4f} of the rows:", quieter.learner_.threshold_, quieter.privacy())
# --8<-- [end:sample]

# --8<-- [start:boost]
votes = rng.integers(0, 2, (50_000, 3))
majority = votes.sum(axis=1) >= 2
columns = [lambda x, j=j: x[:, j] for j in range(3)]  # each errs on a quarter of the rows
boosted = BoostedLearner(columns, budget=dc.ZCDP(0.5), rounds=100, advantage=1 / 6).fit(votes, majority)
errors = float((boosted.predict(votes) != majority).mean())
print(f"{len(boosted.indices_)} of 100 rounds vote, and err on {errors:.1%}; promised {boosted.accuracy(n=50_000):.1%}")
# --8<-- [end:boost]

Path("out").mkdir(exist_ok=True)
shown = [{"who": f"block {i}", "threshold": learner.threshold_} for i, learner in enumerate(surer.learners_)]
shown += [{"who": "chosen", "threshold": surer.best_.threshold_}]
shown += [{"who": "a sixteenth, epsilon 0.1", "threshold": quieter.learner_.threshold_}]
chart = alt.Chart(alt.Data(values=shown), title="The threshold is 300").mark_circle(size=80)
x = alt.X("threshold:Q", scale=alt.Scale(zero=False))
chart.encode(x=x, y=alt.Y("who:N", sort=None, title=None)).save("out/62_amplify_and_boost.svg")
