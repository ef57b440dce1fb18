"""A steward declares a table and a budget; an analyst explains, asks, and looks at what is left."""

import os
from pathlib import Path

from discreet.curator.sample import hospital

folder = Path("out/curator")
hospital(folder / "visits.parquet", visits=100_000, patients=20_000)  # made-up visits
for old in folder.glob("ledger.db*"):
    old.unlink()
os.chdir(folder)

# fmt: off
# --8<-- [start:steward]
import discreet as dc

visits = dc.Table("visits.parquet", unit="patient", rows_per_unit=10, groups_per_unit=3, domain=dc.Domain({
    "patient": dc.Identifier(), "ward": dc.Categorical(["cardiology", "oncology", "surgery"]),
    "age": dc.Integer(0, 119), "cost": dc.Real(0, 5000, step="0.01"), "readmitted": dc.Boolean()}))
curator = dc.Curator({"visits": visits}, budget=dc.ApproxDP(1.0, 1e-6), ledger="ledger.db")
# --8<-- [end:steward]
# --8<-- [start:allot]
curator.ledger.sub_cap("visits", dc.ApproxDP(0.8, 1e-6))
curator.ledger.allot("ada", dc.PureDP(0.5))
# --8<-- [end:allot]
# fmt: on
# --8<-- [start:mock]
print(curator.mock("visits", 1000))  # an Arrow table of fake rows, from the declaration alone
# --8<-- [end:mock]
# --8<-- [start:explain]
sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"
print(curator.explain(sql, epsilon=0.1))  # nothing is read and nothing is spent
print(curator.explain("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", error=200).epsilon)  # type: ignore[union-attr]
# --8<-- [end:explain]
# --8<-- [start:ask]
answer = curator.ask(sql, epsilon=0.1, analyst="ada")
print(answer)
# --8<-- [end:ask]
# --8<-- [start:answer]
print(answer.table.schema)  # Arrow; also answer.to_pandas() and answer.to_polars()
print(answer.errors(beta=0.01).to_pylist()[0])  # the same rows with n_low, n_high, cost_low, cost_high
print(answer.difference("cost", 0, 2))  # value, low, high
print(answer.cost, answer.receipt.id)
print(answer.statement)  # what may be published with the numbers
answer.plot().save("wards.svg")
# --8<-- [end:answer]
# --8<-- [start:again]
again = curator.ask("select ward, count(*) n, avg(cost) as cost from visits group by 1", epsilon=0.1, analyst="ada")
assert again.receipt.replayed  # the same question: the same answer, free
assert again.table == answer.table
# --8<-- [end:again]
# --8<-- [start:budget]
print(curator.budget)  # caps, spent, remaining, in both lanes
# --8<-- [end:budget]
