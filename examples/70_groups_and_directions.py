"""Groups of rows, main directions and neighbours: private k-means, components and nearest neighbours."""

from pathlib import Path

import altair as alt
import numpy as np

import discreet as dc
from discreet.learning import PCA, KMeans, KNeighborsClassifier, MaximumLikelihoodClassifier

rng = np.random.default_rng(0)
kind = rng.integers(0, 3, 20_000)
centres = np.array([[30, 20, 60, 40], [60, 70, 40, 50], [80, 30, 70, 20]])
X = (centres[kind] + rng.normal(0, 6, (20_000, 4))).clip(0, 100).round()
domain = dc.Domain({name: dc.Integer(0, 100) for name in ("glucose", "weight", "age", "dose")})

# --8<-- [start:groups]
groups = KMeans(3, budget=dc.PureDP(1), domain=domain).fit(X)
print("centres:", groups.cluster_centers_.round().tolist(), "for", groups.privacy())
# --8<-- [end:groups]

# --8<-- [start:directions]
pca = PCA(2, budget=dc.ApproxDP(0.5, 1e-6), domain=domain).fit(X)
print("two directions hold", f"{pca.explained_variance_ratio_.sum():.0%} of the variance")
# --8<-- [end:directions]

# --8<-- [start:neighbours]
free = KNeighborsClassifier(50, budget=dc.PureDP(1), domain=domain, classes=(0, 1, 2)).fit(X, kind)
print(f"a released grid is right on {free.score(X, kind):.1%} of rows, asked as often as you like")
paid = KNeighborsClassifier(200, queries=20, budget=dc.PureDP(2), domain=domain, classes=(0, 1, 2)).fit(X, kind)
print("elections:", paid.predict(X[:5]).tolist(), "and", paid.queries_left_, "left")
# --8<-- [end:neighbours]
try:
    paid.predict(X[:100])
except dc.errors.BudgetExhausted as refusal:
    print(refusal)

normal = MaximumLikelihoodClassifier(covariance="each", budget=dc.PureDP(1), domain=domain, classes=(0, 1, 2))
print(f"three normal laws are right on {normal.fit(X, kind).score(X, kind):.1%}")

Path("out").mkdir(exist_ok=True)
shown = [{"glucose": float(r[0]), "weight": float(r[1]), "what": "rows"} for r in X[:400]]
shown += [{"glucose": float(c[0]), "weight": float(c[1]), "what": "centres"} for c in groups.cluster_centers_]
chart = alt.Chart(alt.Data(values=shown), title="Three private centres, epsilon 1").mark_point(filled=True)
kinds = ["rows", "centres"]
size = alt.Size("what:N", scale=alt.Scale(domain=kinds, range=[8, 250]), title=None)
colour = alt.Color("what:N", scale=alt.Scale(domain=kinds, range=["#9ecae1", "#d62728"]), title=None)
chart = chart.encode(x="glucose:Q", y="weight:Q", color=colour, size=size)
chart.save("out/70_groups_and_directions.svg")
