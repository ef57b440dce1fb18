"""Choosing a local protocol: predicted errors before anybody reports, for frequencies, means and vectors."""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.local import DuchiVector, PrivUnit, choose, run

# --8<-- [start:choose]
print(choose("frequency", epsilon=1.0, size=1024, n=1_000_000), end="\n\n")
print(choose("mean", epsilon=1.0, n=100_000), end="\n\n")
# --8<-- [end:choose]

# --8<-- [start:mean]
hours = np.random.default_rng(1).gamma(4, 2, 100_000).clip(0, 24)  # of sleep, one for each user
best = type(choose("mean", epsilon=1.0, n=len(hours)).protocol)
server = run(best(epsilon=1.0, lower=0, upper=24), hours)  # type: ignore[call-arg]
print(f"{best.__name__}: {server.estimate():.2f} +- {server.error(0.05):.2f} hours, in truth {hours.mean():.2f}")
# --8<-- [end:mean]

# --8<-- [start:vector]
steps = np.random.default_rng(2).normal(0.05, 0.1, (20_000, 50))
steps /= np.maximum(1, np.linalg.norm(steps, axis=1, keepdims=True))  # clipped to the ball by each user
for kind in (DuchiVector, PrivUnit):
    protocol = kind(epsilon=4.0, dimension=50)
    off = np.linalg.norm(run(protocol, steps).estimate() - steps.mean(axis=0))
    print(f"{kind.__name__}: off by {off:.3f}, predicted {protocol.variance(len(steps)) ** 0.5:.3f}")
# --8<-- [end:vector]

Path("out").mkdir(exist_ok=True)
shown = []
for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0):
    for row in choose("mean", epsilon=epsilon, n=100_000).candidates:
        shown.append({"epsilon": epsilon, "error": row.error, "protocol": row.name})
chart = alt.Chart(alt.Data(values=shown), title="A mean of 100,000 users in [-1, 1]").mark_line(point=True)
x, y = (alt.X("epsilon:Q", scale=alt.Scale(type="log")), alt.Y("error:Q", scale=alt.Scale(type="log")))
chart.encode(x=x, y=y, color="protocol:N").save("out/81_local_means.svg")
