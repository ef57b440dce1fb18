"""The same question in Python instead of SQL, and narrower bounds for a column, found privately."""

from pathlib import Path

import discreet as dc
from discreet.curator.sample import hospital

folder = Path("out/builder")
visits = hospital(folder / "visits.parquet", visits=1_000_000, patients=100_000)  # made-up visits
for old in folder.glob("ledger.db*"):
    old.unlink()
curator = dc.Curator({"visits": visits}, budget=dc.ApproxDP(1.0, 1e-6), ledger=folder / "ledger.db")

# --8<-- [start:build]
from discreet.queries import avg, col, count

question = curator.table("visits").where(col("age") >= 65).group_by("ward").select(n=count(), cost=avg("cost"))
print(question.query())  # the SQL it stands for; the same object, the same price, the same answer
# --8<-- [end:build]
print(curator.explain(question, epsilon=0.1))

# --8<-- [start:clip]
found = curator.clipping_bounds("visits", "cost", epsilon=0.1)  # one COUNT(*) by bins, at its price
print(found)
# --8<-- [end:clip]

curator.ask(question, epsilon=0.1).plot().save(folder / "24_builder.svg")
