"""Find a leak without statistics: freeze what the mechanisms released, run again on a neighbour, and compare.

Both programs below release an average.  One of them divides by the true number of rows.
"""

from pathlib import Path

import altair as alt

from discreet.attacks import replay
from discreet.mechanisms import Laplace

count = Laplace(epsilon=0.5, sensitivity=1)
total = Laplace(epsilon=0.5, sensitivity=100)
ages = [34, 71, 80, 25, 46, 52, 39]
neighbours = (ages, [*ages, 400])  # one person more, with an age that nobody has


# --8<-- [start:programs]
def honest(rows: list[int]) -> float:
    people = max(1, int(count(len(rows))))
    return int(total(sum(min(max(age, 0), 100) for age in rows))) / people


def naive(rows: list[int]) -> float:
    return int(total(sum(rows))) / len(rows)


# --8<-- [end:programs]

# --8<-- [start:replay]
shown = []
for program in (honest, naive):
    found = replay(program, neighbours)
    print(f"{program.__name__}: {len(found.steps)} releases, epsilon {found.price().epsilon}")
    shown.append({"program": program.__name__, "violations": len(found.violations)})
    for violation in found.violations or ["nothing else changed"]:
        print("   ", violation)
# --8<-- [end:replay]

clipped = replay(lambda rows: total(sum(min(age, 100) for age in rows)) / len(rows), neighbours)
print("naive, with clipping:", *clipped.violations)
Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=shown), title="What else differed between neighbours").mark_bar()
chart.encode(x="violations:Q", y=alt.Y("program:N", sort=None, title=None)).save("out/76_record_and_replay.svg")
