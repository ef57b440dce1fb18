"""Naive Bayes needs one table of counts a column, so that any engine that counts can fit it."""

from pathlib import Path

import altair as alt
from sklearn.datasets import load_digits

import discreet as dc
from discreet.learning import NaiveBayes

# --8<-- [start:fit]
X, y = load_digits(return_X_y=True, as_frame=True)
domain = dc.Domain({name: dc.Integer(0, 16) for name in X})
shown = []
for budget in (dc.ApproxDP(1.0, 1e-6), dc.ZCDP(0.5), dc.PureDP(10.0)):
    model = NaiveBayes(budget=budget, domain=domain, classes=range(10)).fit(X[:1200], y[:1200])
    shown.append({"budget": str(budget), "right": model.score(X[1200:], y[1200:])})
    print(f"{model.score(X[1200:], y[1200:]):.0%} of digits for {model.privacy()}")
# --8<-- [end:fit]

# --8<-- [start:tables]
needed = NaiveBayes.tables(dc.Domain({**domain, "digit": dc.Categorical(list(range(10)))}), "digit")
print(f"{len(needed)} tables, the first of {needed[0]}")
# --8<-- [end:tables]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=shown), title="Digits told right").mark_bar()
chart = chart.encode(x="right:Q", y=alt.Y("budget:N", sort=None, title=None, axis=alt.Axis(labelLimit=300)))
chart.save("out/69_naive_bayes.svg")
