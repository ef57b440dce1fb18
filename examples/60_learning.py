"""Learning a threshold, and the best of a class of functions: draw it by its errors, and one row hardly matters.

A hospital readmits patients above some score.  The exponential mechanism over all thresholds finds it; a class may also
be a list of functions, or count its errors by itself.
"""

from pathlib import Path

import altair as alt

# --8<-- [start:make]
import numpy as np

from discreet.learning import Conjunctions, ExponentialLearner, ThresholdLearner, best_of_panel

rng = np.random.default_rng(0)
score = rng.integers(0, 1024, 2000)
readmitted = score >= 300
# --8<-- [end:make]

# --8<-- [start:functions]
rules = [lambda x, t=t: x >= t for t in range(1025)]
learner = ExponentialLearner(rules, epsilon=1.0).fit(score, readmitted)
print("rule", learner.index_, "errs on", int((learner.predict(score) != readmitted).sum()), "rows")
print(learner.privacy(), "errs on at most", learner.accuracy(beta=0.05), "more than the best, but for one time in 20")
# --8<-- [end:functions]

# --8<-- [start:thresholds]
pressure = rng.integers(0, 10**9, 50_000)  # a billion points are no harder than a thousand
pure = ThresholdLearner(10**9, epsilon=1.0).fit(pressure, pressure >= 3 * 10**8)
approximate = ThresholdLearner(10**9, epsilon=1.0, delta=1e-6, n=50_000).fit(pressure, pressure >= 3 * 10**8)
print("threshold", pure.threshold_, pure.privacy(), "or", approximate.threshold_, approximate.privacy())
# --8<-- [end:thresholds]

# --8<-- [start:conjunctions]
symptoms = rng.integers(0, 2, (3000, 8))
ill = (symptoms[:, 1] == 1) & (symptoms[:, 6] == 0)
rule = ExponentialLearner(Conjunctions(8), epsilon=1.0).fit(symptoms, ill).hypothesis_
print(rule, "of", Conjunctions(8).size)
# --8<-- [end:conjunctions]

# --8<-- [start:panel]
doctors = [lambda x: x >= 250, lambda x: x >= 310, lambda x: x % 2 == 1]
print("doctor", best_of_panel(doctors, score, readmitted, epsilon=0.1).index_)
# --8<-- [end:panel]

Path("out").mkdir(exist_ok=True)
drawn = [ExponentialLearner(rules, epsilon=1.0).fit(score, readmitted).index_ for _ in range(200)]
chart = alt.Chart(alt.Data(values=[{"rule": int(i)} for i in drawn]), title="200 fits at epsilon 1").mark_bar()
x = alt.X("rule:O", title="threshold", axis=alt.Axis(labelAngle=0))
chart.encode(x=x, y=alt.Y("count()", title="fits")).properties(width=300).save("out/60_learning.svg")
