"""How many rows learning needs, with privacy and without, from above and below.

The exponential mechanism learns thresholds from 248 rows; the usual proof asks for 850, and nobody can do with 60.
"""

from pathlib import Path

# --8<-- [start:table]
from discreet.bounds import samples

table = samples("thresholds", d=10, alpha=0.1, beta=0.05, epsilon=1.0)
print(table)
print(table["private, realizable, by moments"].n)
# --8<-- [end:table]

# --8<-- [start:plot]
Path("samples.csv").write_text(table.to_csv())
table.plot().save("samples.svg")  # n against the error and against epsilon
# --8<-- [end:plot]

# --8<-- [start:others]
parities = samples("parities", d=20, alpha=0.1, beta=0.05, epsilon=1.0)
queries = samples("statistical", m=100, tau=0.1, beta=0.05, epsilon=1.0, delta=1e-6)
print(
    "parities:",
    parities["parity learner, one block"].n,
    "rows a block,",
    parities["parity learner, amplified"].n,
    "in all",
)
for row in queries:
    print(f"100 statistical queries, {row.name}: {row.n:,}")
# --8<-- [end:others]
