"""What a steward does to a ledger over the years: raise a cap, renew it, retire a table, note an erasure, report."""

import os
from pathlib import Path

import altair as alt

folder = Path("out/steward")
folder.mkdir(parents=True, exist_ok=True)
for old in folder.glob("ledger.db*"):
    old.unlink()
os.chdir(folder)

# --8<-- [start:raise]
import discreet as dc
from discreet.ledger import Ledger

ledger = Ledger.open("ledger.db")
ledger.register(unit="patient", cap=dc.PureDP(1))
ledger.spend(dc.PureDP(0.9), unit="patient", tables=["visits"])
ledger.top_up("patient", dc.PureDP(1.5), reason="a second study, approved by the board in May")
ledger.spend(dc.PureDP(0.5), unit="patient", tables=["visits"])  # 1.4 of 1.5: nothing was given back
# --8<-- [end:raise]

# --8<-- [start:renew]
ledger.renew("patient", period="2027", cap=dc.PureDP(1), reason="the yearly budget")
ledger.spend(dc.PureDP(0.25), unit="patient", tables=["visits"])
budget = ledger.budget("patient")
print(budget.period, budget.present.cap, budget.present.spent.epsilon)  # 2027: 1/4 of 1
print(budget.balance.cap, budget.balance.spent.epsilon)  # a lifetime so far: 33/20 of 2.5
# --8<-- [end:renew]

# --8<-- [start:retire]
ledger.spend(dc.PureDP(0.25), unit="patient", tables=["letters"])
ledger.retire("letters", reason="the project is over")  # nobody asks about it any more; what was spent stays spent
ledger.erase("visits", version="2027-03", requests=2)  # two people's rows are gone from this version on
# --8<-- [end:retire]

# --8<-- [start:report]
report = ledger.report()
Path("report.html").write_text(report.to_html(), encoding="utf-8")
Path("report.json").write_text(report.to_json(), encoding="utf-8")
print(report.promises["patient"])
# --8<-- [end:report]
ledger.close()

rows = [
    {"period": name, "what": what, "epsilon": float(amount or 0)}
    for name, balance in budget.periods.items()
    for what, amount in (("cap", balance.cap.epsilon), ("spent", balance.spent.epsilon))  # type: ignore[union-attr]
]
chart = alt.Chart(alt.Data(values=rows), title="What every patient was promised, period by period").mark_bar()
chart.encode(x="epsilon:Q", y=alt.Y("period:N", title=None), yOffset="what:N", color="what:N").save("26_steward.svg")
