"""A ledger with a witness: yesterday's copy of the ledger, put back, answers nothing; without one it answers again."""

import shutil
from pathlib import Path

import altair as alt
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc

FILE = """
# --8<-- [start:file]
[ledger]
place = "ledger.db"
witness = "../elsewhere/witness.json"   # on another volume; or "postgresql://host/database#table"
# --8<-- [end:file]

[budget]
epsilon = "1"

[tables.visits]
source = "visits.parquet"
unit = "patient"

[tables.visits.columns]
patient = { type = "identifier" }
"""
left = []
for name, text in (("with a witness", FILE), ("without", FILE.replace('witness = "', '# "'))):
    folder = Path("out/witness") / name.replace(" ", "_")
    shutil.rmtree(folder, ignore_errors=True)
    for made in (folder, folder.parent / "elsewhere"):
        made.mkdir(parents=True, exist_ok=True)
    (folder / "curator.toml").write_text(text)
    pq.write_table(pa.table({"patient": range(1000)}), folder / "visits.parquet")
    answers = 0
    for day in range(4):
        try:
            with dc.Curator.open(folder / "curator.toml") as curator:
                print(name, day, curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.5, fresh=True).cost)
                answers += 1
        except dc.errors.DiscreetError as refusal:
            print(name, day, refusal)
        if day == 0:
            shutil.copy(folder / "ledger.db", folder / "backup.db")
        shutil.copy(folder / "backup.db", folder / "ledger.db")
    left.append({"ledger": name, "epsilon spent": answers / 2})

chart = alt.Chart(alt.Data(values=left), title="Spent under a cap of 1, the backup put back each day").mark_bar()
chart.encode(x="epsilon spent:Q", y=alt.Y("ledger:N", title=None)).save("out/28_witness.svg")
