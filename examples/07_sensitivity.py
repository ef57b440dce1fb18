"""How far one person moves an answer: found by trying all small tables, and known in closed form.

The noise of a mechanism is as large as this number, so that it must be neither too small nor too large.
It depends on what a neighbour is: a person more or less, or another person in the same place.
"""

from itertools import combinations
from pathlib import Path

import altair as alt

from discreet.privacy import AddRemove, Replace, sensitivity

BITS = [(a, b) for a in (-1, 1) for b in (-1, 1)]

# --8<-- [start:brute]
QUESTIONS = {
    "a count": lambda rows: [sum(a > 0 for a, _ in rows)],
    "a histogram": lambda rows: [rows.count(cell) for cell in BITS],
    "the larger of two counts": lambda rows: [max(sum(a > 0 for a, _ in rows), sum(b > 0 for _, b in rows))],
    "a sum of -1 and 1": lambda rows: [sum(a for a, _ in rows)],
}
found = [
    {
        "question": name,
        "neighbours": relation.__name__,
        "change": float(sensitivity.brute_force(question, universe=BITS, n=3, relation=relation, norm=1)),
    }
    for name, question in QUESTIONS.items()
    for relation in (AddRemove, Replace)
]
for one in found:
    print(f"{one['question']:26}{one['neighbours']:12}{one['change']:g}")
# --8<-- [end:brute]

# --8<-- [start:closed]
for d in (4, 10, 100):
    pairs = len(list(combinations(range(d), 2)))
    print(f"all {pairs} products of two of {d} bits: {sensitivity.parities2(d, relation=Replace, norm=2):.4g} in l2")
# --8<-- [end:closed]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=found), title="How far one person moves it").mark_bar()
chart.encode(
    y=alt.Y("question:N", title=None, sort=None),
    yOffset="neighbours:N",
    x=alt.X("change:Q", title="largest change (l1), of all tables of three rows"),
    color="neighbours:N",
).save("out/07_sensitivity.svg")
