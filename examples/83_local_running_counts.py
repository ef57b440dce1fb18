"""How waiting times are distributed, when nobody tells anybody how long they waited.

A workload is answered through its best factorization: one report a user, and all running counts at once.
"""

from pathlib import Path

import altair as alt
import numpy as np

rng = np.random.default_rng(0)
minutes = np.minimum(rng.lognormal(4.5, 0.8, 500_000).astype(int), 1023)  # 0 .. 1023

# --8<-- [start:cdf]
from discreet.local import HierarchicalRanges, LocalFactorization, run
from discreet.queries.ordered import thresholds

protocol = LocalFactorization(thresholds(1024), epsilon=1.0)
server = run(protocol, minutes)
below, error = server.estimate(), server.error(0.05)
told = below
print(
    f"within an hour: {below[60]:.3f} +- {error[60]:.3f}, truly {(minutes <= 60).mean():.3f}; {protocol.bits} bits each"
)
# --8<-- [end:cdf]

# --8<-- [start:compare]
tree = HierarchicalRanges(epsilon=1.0, size=1024)
textbook = HierarchicalRanges(epsilon=1.0, size=1024, branches=2, consistent=False)
for name, kind in {"factorization": protocol, "tree": tree, "textbook tree": textbook}.items():
    print(f"{name:>14}: standard deviation at most {kind.variance(500_000) ** 0.5:.4f}")
# --8<-- [end:compare]

# --8<-- [start:workload]
shifts = np.array([[0, 0, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0], [3, 2, 1, 1, 2, 3]])  # any queries of six kinds of visit
protocol = LocalFactorization(shifts, epsilon=1.0)
server = run(protocol, minutes % 6)
print("means of any queries:", server.estimate().round(2), "truly", shifts[:, minutes % 6].mean(axis=1).round(2))
# --8<-- [end:workload]

Path("out").mkdir(exist_ok=True)
shown = [{"minutes": m, "share": float(told[m]), "who": "private"} for m in range(0, 600, 10)]
shown += [{"minutes": m, "share": float((minutes <= m).mean()), "who": "true"} for m in range(0, 600, 10)]
chart = alt.Chart(alt.Data(values=shown), title="Waited at most so long").mark_line()
chart.encode(x="minutes:Q", y="share:Q", color=alt.Color("who:N", title=None)).save("out/83_local_running_counts.svg")
