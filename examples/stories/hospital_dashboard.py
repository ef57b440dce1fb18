"""A hospital dashboard: one page that may be pinned to the wall, with a budget for a year.

The board wants five pictures a month: visits and costs by ward, the season, who is readmitted, the typical cost.  The
steward wants to know, before promising anything, whether a year of that fits one budget for every patient, and what
stays for the question that nobody has thought of yet.
"""

from pathlib import Path

import altair as alt

import discreet as dc
from discreet.curator.sample import hospital

folder = Path("out/hospital")
table = hospital(folder / "visits.parquet", visits=200_000, patients=40_000)  # made up; nobody is in it

# --8<-- [start:steward]
for old in folder.glob("ledger.db*"):
    old.unlink()
curator = dc.Curator({"visits": table}, budget=dc.ApproxDP(2, 1e-6), ledger=folder / "ledger.db")
curator.ledger.allot("dashboard", dc.ApproxDP(1.6, 8e-7))  # the rest stays for the unexpected
# --8<-- [end:steward]

# --8<-- [start:plan]
panels = {
    "Visits by ward": "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward",
    "Mean cost by ward": "SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward",
    "The season": "SELECT EXTRACT(month FROM day) AS month, COUNT(*) AS visits FROM visits GROUP BY month",
    "Readmitted, by age": "SELECT FLOOR(age / 30) AS thirties, AVG(readmitted) AS share FROM visits GROUP BY thirties",
    "Median cost": "SELECT MEDIAN(cost) AS cost FROM visits",
}
price, months = dc.ZCDP("0.0009"), 12
for name, sql in panels.items():
    explanation = curator.explain(sql, budget=price)
    widths = [line.error for line in explanation.lines if line.error is not None]  # type: ignore[union-attr]
    print(f"{name:24} " + (f"within {max(widths):.0f}" if widths else "as good as its groups are large: see `explain`"))
year = dc.ZCDP(float(price.rho) * len(panels) * months)
print(f"\na year of it: {year}, which is {year.to_approx(8e-7)}")
# --8<-- [end:plan]

# --8<-- [start:publish]
charts, answers = [], {name: curator.ask(sql, budget=price, analyst="dashboard") for name, sql in panels.items()}
for name, answer in answers.items():
    if len(answer.table) > 1:
        charts.append(answer.plot().properties(title=name, width=300, height=180))
print(answers["Median cost"])
page = alt.vconcat(alt.hconcat(*charts[:2]), alt.hconcat(*charts[2:]))
page.save(folder / "hospital_dashboard.svg")
(folder / "statements.txt").write_text("\n\n".join(answer.statement for answer in answers.values()))
# --8<-- [end:publish]

# --8<-- [start:left]
balance = curator.ledger.budget("patient").balance
spent, cap = balance.spent.rho, balance.rho_cap
assert cap is not None
print(f"spent after one month: {float(spent / cap):.1%} of the year's promise")
again = curator.ask(panels["Visits by ward"], budget=price, analyst="dashboard")
print("looking at the page again costs nothing:", again.receipt.replayed)
# --8<-- [end:left]
curator.close()
