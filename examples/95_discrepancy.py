"""Split the cells in two so that every query is split evenly: if that cannot be done, accurate answers tell the rows.

All colourings of 14 cells, hereditary discrepancy with its witness, and the error that follows for everybody.
"""

import altair as alt
import numpy as np

import discreet as dc
from discreet.bounds import determinant_bound, discrepancy, discrepancy_error, gamma2, success_needed
from discreet.privacy import AddRemove
from discreet.queries import thresholds

# --8<-- [start:exact]
print("prefixes of 14 cells:", discrepancy(thresholds(14), hereditary=True))
random = np.random.default_rng(1).integers(0, 2, (40, 14))
found = discrepancy(random, hereditary=True)
print("40 random sets of 14 cells:", found, "on the cells", found.columns)
split = np.asarray(found.colouring)
print("split as", "".join({1: "+", -1: "-", 0: "."}[sign] for sign in split.tolist()))
# --8<-- [end:exact]

parts = {1: "red", -1: "blue", 0: "not coloured"}
cells = [
    {"set": int(i), "cell": int(j), "part": parts[int(split[j])]} for i, j in zip(*np.nonzero(random), strict=True)
]
picture = alt.Chart(alt.Data(values=cells)).mark_rect().encode(x="cell:O", y="set:O", color="part:N")
picture = picture.properties(height=400)
picture.properties(title="In no set red and blue differ by over 3").save("95_discrepancy.svg")

# --8<-- [start:bounds]
large = np.random.default_rng(2).integers(0, 2, (60, 60))
print("60 random sets of 60 cells:", discrepancy(large))
print("by determinants, hereditary: at least", round(determinant_bound(large).value / 2, 2))
print("gamma_2:", gamma2(large))
# --8<-- [end:bounds]

# --8<-- [start:error]
for epsilon in (1, 0.1, 0.01):
    told = discrepancy_error(random, budget=dc.ApproxDP(epsilon, 1e-9), n=10_000, neighbours=AddRemove)
    print(f"epsilon {epsilon}: some answer is off by {told.value} ({told.copies} rows a cell)")
needed = success_needed(dc.ApproxDP(1, "0.1"), kappa="0.01")
print(f"at (1, 0.1) the argument needs small errors with probability above {needed:.5f}, not 2/3")
# --8<-- [end:error]
