"""A private answer with error bars, paid for before the data is read."""

import os
from pathlib import Path

from discreet.curator.sample import hospital

folder = Path("out/ten_lines")
hospital(folder / "visits.parquet", visits=100_000, patients=20_000)  # made-up visits
for old in folder.glob("ledger.db*"):
    old.unlink()
os.chdir(folder)

# --8<-- [start:body]
import discreet as dc

columns = {"patient": dc.Identifier(), "ward": dc.Categorical(["cardiology", "surgery"]), "cost": dc.Real(0, 5000)}
visits = dc.Table("visits.parquet", domain=dc.Domain(columns), unit="patient", rows_per_unit=10, groups_per_unit=2)
curator = dc.Curator({"visits": visits}, budget=dc.ApproxDP(1.0, 1e-6), ledger="ledger.db")

sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"
print(curator.explain(sql, epsilon=0.1))  # mechanism, error bars, price; nothing is read, nothing is spent
print(curator.ask(sql, epsilon=0.1))  # charged, and on the disk, before the first row is read
print(curator.ledger.budget("patient").balance.remaining)
# --8<-- [end:body]

curator.ask(sql, epsilon=0.1).plot().save("00_ten_lines.svg")  # the same answer again, free, as a picture
