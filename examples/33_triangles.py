"""The triangles of a social network, counted so that no one learns who knows whom.

One friendship can be in n - 2 triangles, so noise for the worst case drowns the answer.  Here nobody
shares more than a few dozen friends with anybody, and the methods that know it err forty times less.
A picture of all of them: the error that is exceeded one time in twenty, measured and predicted.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet import Graph
from discreet.structured import TriangleBound, TriangleCount

# --8<-- [start:make]
rng = np.random.default_rng(1)
circles = [rng.choice(4000, size, replace=False) for size in rng.integers(5, 40, 300)]  # friends of friends
edges = [(a, b) for circle in circles for a in circle for b in circle if a < b and rng.random() < 0.4]
network = Graph.from_edges(edges, vertices=4000)
# --8<-- [end:make]

# --8<-- [start:count]
count = TriangleCount(epsilon=1.0, delta=1e-6)  # method="auto": by the number of vertices and epsilon
print(count.explain(vertices=4000))  # free: from public facts
print("triangles, about", count(network), "by", count.chosen(4000), "under", count.privacy())

bound = TriangleBound(epsilon=0.1, delta=1e-3)(network)  # paid for: how many friends two people share at most
print(f"\nafter a bound of {bound} was paid for:")
print(count.explain(vertices=4000, local_sensitivity=bound))
# --8<-- [end:count]

truth, points = TriangleCount(epsilon=10_000, delta=0, method="laplace")(network), []  # for the picture alone
for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0):
    for method in ("laplace", "noisy-local", "ladder", "smooth"):
        made = TriangleCount(epsilon=epsilon, delta=1e-6, method=method)
        errors = np.abs(made.releases(network, 300) - truth)
        points.append({"epsilon": epsilon, "method": method, "error": float(np.quantile(errors, 0.95) / truth)})

picture = (
    alt.Chart(alt.Data(values=points), title="Triangles in a network of 4,000 people")
    .mark_line(point=True)
    .encode(
        x=alt.X("epsilon:Q", scale=alt.Scale(type="log"), title="epsilon"),
        y=alt.Y("error:Q", scale=alt.Scale(type="log"), title="relative error, exceeded 1 time in 20"),
        color=alt.Color("method:N", title=None),
    )
)
Path("out").mkdir(exist_ok=True)
picture.properties(width=480, height=260).save("out/triangles.svg")
