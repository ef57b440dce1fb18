"""Workloads: thousands of linear queries as structure, their sensitivities exact, and independent noise on all of them.

Marginals, thresholds, parities and predicates over one small hospital; what one row changes in each; one query
as a view; and a release with error bars, saved to a file and read back.
"""

from pathlib import Path

import numpy as np

from discreet.data import Boolean, Categorical, Domain, Histogram, Integer
from discreet.privacy import ZCDP, AddRemove, Replace
from discreet.queries import counts, from_predicates, kron, marginals, parities, ranges, thresholds
from discreet.release import IndependentNoise, Release

# --8<-- [start:workloads]
wards = Categorical(["cardiology", "oncology", "surgery"])
domain = Domain({"age": Integer(0, 99), "ward": wards, "icu": Boolean(), "smokes": Boolean()})
by_ward = kron(counts(Domain({"ward": wards})), thresholds(Domain({"age": Integer(0, 99)})))
named = {
    "2-way marginals": marginals(domain, 2),
    "thresholds by ward": by_ward,
    "ranges": ranges(100),
    "parities of 3 of 20 bits": parities(20, 3),
    "predicates": from_predicates(domain, ["age >= 65 AND smokes", "ward = 'surgery' OR icu"]),
}
print(f"{'':26}{'queries':>9}{'cells':>11}{'l1 add':>8}{'replace':>8}{'l2 add':>8}{'replace':>8}")
for name, w in named.items():
    moved = [float(w.sensitivity(relation, norm)) for norm in (1, 2) for relation in (AddRemove, Replace)]
    print(f"{name:26}{w.shape[0]:9,}{w.shape[1]:11,}" + "".join(f"{value:8.4g}" for value in moved))
# --8<-- [end:workloads]

# One query of a workload touches its own cells only.
cells = np.ones(1 << 20)
query = marginals(Domain({f"b{i}": Boolean() for i in range(20)}), 3)[4711]
query.view(cells)[...] *= 2  # type: ignore[attr-defined]
print(f"\n{query}: {query.view(cells).size:,} cells of {cells.size:,}, now summing to {cells.sum():,.0f}")  # type: ignore[attr-defined]

# --8<-- [start:release]
hospital = Histogram.random(domain, n=50_000, seed=1)
noisy = IndependentNoise(marginals(domain, 2), budget=ZCDP(0.1))
release = noisy(hospital)
print(f"\n{noisy}: no answer off by more than {release.accuracy(0.05):.0f}, with probability 0.95")
print(release.to_pandas(["ward", "icu"]).to_string(index=False))

file = release.save(Path("out") / "hospital.release")
assert np.array_equal(Release.load(file).answers, release.answers)
# --8<-- [end:release]

release.plot(["ward", "icu"]).save("out/40_workloads.svg")
