"""Which mechanism for a workload, before anything is read or spent: the plan, its floor, and one of your own."""

from pathlib import Path

import discreet as dc
from discreet.data import Boolean, Domain, Histogram
from discreet.planning import Candidate, Cost, register, unregister
from discreet.release import IndependentNoise

# --8<-- [start:plan]
domain = Domain({f"b{i}": Boolean() for i in range(10)})
plan = dc.plan(dc.marginals(domain, 2), n=20_000, budget=dc.ApproxDP(1.0, 1e-6))
print(plan)  # every mechanism, its error, seconds and memory, and why the others are out
plan.plot()  # the same as a picture
histogram = Histogram.random(domain, n=20_000, seed=1)  # your data
release = plan.mechanism()(histogram)
# --8<-- [end:plan]
print(f"\n{plan.chosen.name}: {len(release.answers)} answers for {release.privacy()}")

# --8<-- [start:register]
mine = Candidate(
    name="my mechanism",
    build=lambda workload, budget, n: IndependentNoise(workload, budget=budget, n=n),  # UnsupportedError: not for this
    cost=lambda workload: Cost(seconds=0.1, memory=1e6),
)
register(mine)
# --8<-- [end:register]
again = dc.plan(dc.marginals(domain, 2), n=20_000, budget=dc.ApproxDP(1.0, 1e-6), seconds=0)
print("my mechanism came", [row.name for row in again.rows].index("my mechanism") + 1, "of", len(again.rows))
unregister("my mechanism")

# --8<-- [start:capacity]
for row in dc.bounds.capacity(n=1_000_000, universe=2**10, alpha=0.1, budget=dc.ApproxDP(1.0, 1e-6)):
    print(f"{row.mechanism}: {row.queries:.3g} queries with every error below 10 % of n")
# --8<-- [end:capacity]

Path("out").mkdir(exist_ok=True)
plan.plot().save("out/52_planning.svg")
