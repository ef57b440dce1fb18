"""The ledger on its own: a promise, caps inside it, a spend that is on the disk, keys, and checking it all."""

import os
from pathlib import Path

import altair as alt

folder = Path("out/ledger")
folder.mkdir(parents=True, exist_ok=True)
for old in folder.glob("ledger.db*"):
    old.unlink()
os.chdir(folder)

# --8<-- [start:spend]
import discreet as dc
from discreet.ledger import Ledger

ledger = Ledger.open("ledger.db")  # created if it is not there, mode 0600
ledger.register(unit="patient", cap=dc.ApproxDP(1, 1e-6))  # the promise to every patient; never lowered
ledger.sub_cap("visits", dc.PureDP(0.8))  # inside it: this table
ledger.allot("ada", dc.PureDP(0.5))  # inside it: this analyst

question = {"unit": "patient", "tables": ["visits"], "analyst": "ada", "query": "SELECT COUNT(*) FROM visits"}
receipt = ledger.spend(dc.PureDP(0.01), key="question-17", **question)
ledger.store(receipt, b"...the answer...")  # before it is handed out
print(ledger.recall("question-17", analyst="ada"))  # the same bytes again, free
print(ledger.budget("patient").balance.remaining)  # exact, lane by lane
# --8<-- [end:spend]

# --8<-- [start:verify]
anchor = ledger.anchor()  # {"hash": "...", "id": 42}: print it, mail it, keep it elsewhere
ledger.verify(anchor=anchor)  # replays every entry; LedgerError if anything is not as it was
for line in ledger.export():  # one JSON line an entry
    print(line)
# --8<-- [end:verify]
ledger.close()

# --8<-- [start:buys]
bought = []
for epsilon in ("0.5", "0.1", "0.02", "0.01"):
    budget = dc.composition.PrivacyFilter(dc.ApproxDP(1, 1e-6))
    count = dc.mechanisms.Laplace(epsilon=epsilon, sensitivity=1)
    asked = 0
    while budget.affords(count.event()):
        budget.spend(count.event())
        asked += 1
    bought += [(epsilon, "lanes", asked), (epsilon, "basic composition", int(1 / float(epsilon)))]
    print(f"epsilon {epsilon}: {asked} counts, against {int(1 / float(epsilon))} by basic composition")
# --8<-- [end:buys]

rows = [{"epsilon": e, "rule": rule, "counts": n} for e, rule, n in bought]
chart = alt.Chart(alt.Data(values=rows), title="Counts that (1, 1e-6) pays for").mark_bar()
x, y = alt.X("counts:Q", title=None), alt.Y("epsilon:N", sort=None, title="epsilon each")
chart.encode(x=x, y=y, yOffset="rule:N", color=alt.Color("rule:N", title=None)).save("22_ledger.svg")
