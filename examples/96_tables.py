"""Tables of what is known, as values: printed, written to a file, drawn.

How much noise each law needs, how many queries can be answered, and what is still open.
"""

from pathlib import Path

import discreet as dc
from discreet.bounds import capacity, noise_table, open_questions

# --8<-- [start:noise]
table = noise_table(epsilon=0.1, delta=[1e-6, 1e-5, 1e-3, 0.01, 0.1])
print(table)
Path("noise.csv").write_text(table.to_csv())
table.plot().save("96_tables.svg")  # variance against delta, a line for each law
# --8<-- [end:noise]

# --8<-- [start:capacity]
print(capacity(n=1_000_000, universe=2**10, alpha=0.1, budget=dc.ApproxDP(1.0, 1e-6)))
# --8<-- [end:capacity]

# --8<-- [start:open]
for question in open_questions():
    if question.status == "open":
        print("open:", question.question)
# --8<-- [end:open]
