"""The same question in SQL and in Python, and bounds that make its sums a hundred times less noisy.

The steward declared costs up to a million, to be safe.  One priced question finds that they end near
a few thousand; declared anew, the sum needs that much less noise, and loses what clipping cuts off.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet import ApproxDP
from discreet.curator import Curator
from discreet.data import Categorical, Domain, Identifier, Integer, Real, Table
from discreet.queries import avg, col, count, total, units

WARDS = ["cardiology", "oncology", "surgery"]
chance, n = np.random.default_rng(1), 20_000
rows = pa.table({
    "patient": np.arange(n) // 4,
    "ward": chance.choice(WARDS, n, p=[0.5, 0.3, 0.2]),
    "age": chance.integers(20, 95, n),
    "cost": chance.gamma(2.0, 400.0, n).round(2),
})  # fmt: skip
domain = Domain({
    "patient": Identifier(), "ward": Categorical(WARDS), "age": Integer(0, 119), "cost": Real(0, 10**6, step="0.01"),
})  # fmt: skip


def curator(domain: Domain, ledger: Path) -> Curator:
    visits = Table(rows, domain=domain, unit="patient", rows_per_unit=4, groups_per_unit=3)
    return Curator({"visits": visits}, budget=ApproxDP(3.0, 1e-6), ledger=ledger)


with tempfile.TemporaryDirectory() as folder:
    ledger = Path(folder) / "ledger.db"
    wide = curator(domain, ledger)
    question = (
        wide.table("visits")
        .where(col("age") >= 65)
        .group_by("ward")
        .select(n=count(), people=units(), cost=avg("cost"))
        .order_by("-n")
    )
    print(f"{question.query()}\n{wide.ask(question, epsilon=1)}\n")

    bounds = wide.clipping_bounds("visits", "cost", epsilon=0.5)
    print(f"costs are {bounds}")
    narrow = curator(Domain({**domain, "cost": bounds.column}), ledger)  # the same ledger: what is spent stays spent
    for name, who in (("declared", wide), ("narrowed", narrow)):
        answer = who.ask(who.table("visits").select(total=total("cost")), epsilon=0.5)
        [(low, high)] = [(row["total_low"], row["total_high"]) for row in answer.errors().to_pylist()]
        print(f"total cost with the {name} range: between {low:,.0f} and {high:,.0f}")
    cost = rows["cost"].to_numpy()
    print(f"in truth {cost.sum():,.0f}, and {cost.clip(float(bounds.low), float(bounds.high)).sum():,.0f} clipped")
