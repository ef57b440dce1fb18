"""Text is read once: one line is one row, bad lines are dropped by their own bytes, and the steward is told of them."""

import csv
from pathlib import Path

import altair as alt

folder = Path("out/text")
folder.mkdir(parents=True, exist_ok=True)
lines = [f"{person};{person % 90}" for person in range(1000)]
lines[500] = '"4711;50'  # a quote that is never closed
(folder / "visits.csv").write_text("\n".join(["patient;age", *lines]) + "\n")

# --8<-- [start:declare]
import discreet as dc
from discreet.data import TextFile

visits = dc.Table(
    TextFile("out/text/visits.csv", separator=";", encoding="windows-1252"),
    domain=dc.Domain({"patient": dc.Identifier(), "age": dc.Integer(0, 119)}),
    unit="patient",
)
curator = dc.Curator({"visits": visits}, budget=dc.PureDP(1), ledger=":memory:")
# --8<-- [end:declare]

# --8<-- [start:seal]
told = curator.tables["visits"].seal()  # for the steward alone: it tells of the rows
print(told.rows, told.bad, told.bad_lines[0][1:])  # 999 1 (502, 'a quote is open at its end')
# --8<-- [end:seal]

# --8<-- [start:ask]
answer = curator.ask("SELECT COUNT(*) AS n FROM visits WHERE age >= 65", epsilon=0.5)
print(answer.statement)  # ... 'visits' was read from text on 2026-11-19. ...
# --8<-- [end:ask]
assert (told.rows, told.bad) == (999, 1)

with open(folder / "visits.csv", newline="") as file:
    usual = len(list(csv.reader(file, delimiter=";"))) - 1  # what follows the open quote is one value to its end
rows = [{"reader": "quotes span lines", "rows": usual}, {"reader": "one line, one row", "rows": told.rows}]
chart = alt.Chart(alt.Data(values=rows), title="Rows that are left of 1000 where one quote is never closed").mark_bar()
chart.encode(x="rows:Q", y=alt.Y("reader:N", title=None)).save("out/27_text_files.svg")
