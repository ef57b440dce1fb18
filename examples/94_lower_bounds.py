"""What nobody can do: the best lower bound for a workload, beside what the planner would do.

A bound says whom it binds, what proves it and where to read about it.  Some bind every mechanism, some unbiased ones.
"""

import discreet as dc
from discreet.bounds import best, fingerprinting, lower_bounds, packing
from discreet.privacy import AddRemove, Replace

# --8<-- [start:best]
domain = dc.Domain({f"b{i}": dc.Boolean() for i in range(8)})
pairs = dc.marginals(domain, 2)
for budget in (dc.PureDP(0.5), dc.ApproxDP(0.5, 1e-6), dc.ZCDP(0.05)):
    print(budget)
    for bound in lower_bounds(pairs, n=10_000, guarantee=budget):
        print("  ", bound)
# --8<-- [end:best]

# --8<-- [start:plan]
plan = dc.plan(pairs, n=10_000, budget=dc.ZCDP(0.05), seconds=0)
print(f"{plan.chosen.name}: typical error {plan.chosen.typical:.1f}; {plan.bound}")
plan.plot().save("94_lower_bounds.svg")  # the floors are dashed
# --8<-- [end:plan]

# --8<-- [start:parts]
found = packing(dc.queries.thresholds(1024), budget=dc.PureDP(0.1), n=10_000, neighbours=AddRemove)
print(f"{found.packing.others} datasets, {found.copies} rows apart: some error is at least {found.value}")
marks = fingerprinting(100_000, budget=dc.ZCDP(0.01), n=100_000, neighbours=Replace)
print(f"100,000 one-way marginals: root mean square error at least {marks.value:.0f}; Gaussian noise has 2236")
# --8<-- [end:parts]

assert best(pairs, n=10_000, guarantee=dc.ZCDP(0.05)) == plan.bound
