"""What a class costs to learn is one number: its VC dimension, its Littlestone dimension, or bits of communication."""

from pathlib import Path

import altair as alt

# --8<-- [start:dimensions]
from discreet.bounds import concepts, littlestone_dimension, sauer, vc_dimension

thresholds = concepts(lambda c, x: x >= c, points=15, count=16)
parities = concepts(lambda c, x: (c & x).bit_count() % 2, points=16, count=16)
print("VC dimension:", vc_dimension(thresholds, points=15), vc_dimension(parities, points=16))
print(
    "Littlestone dimension:", littlestone_dimension(thresholds, points=15), littlestone_dimension(parities, points=16)
)
print("at most", sauer(15, 1), "concepts of VC dimension 1 on 15 points, and there are", len(thresholds), "thresholds")
# --8<-- [end:dimensions]

# --8<-- [start:bits]
from discreet.bounds import list_length, message_bits, rows_needed

runs = list_length(epsilon=1, n=10, failure=0.05, beta=0.1)
print(f"a private learner from 10 rows is a message: one of {runs:,} runs,", end=" ")
print(f"{message_bits(epsilon=1, n=10, failure=0.05, beta=0.1):.2f} bits")
print("so what needs 40 bits needs", rows_needed(40, epsilon=1, failure=0.05, beta=0.1), "rows")
# --8<-- [end:bits]

from discreet.bounds import agreement, joint_agreement, network_cost

law = {("short", 0): "1/3", ("short", 1): "1/6", ("long", 0): "1/8", ("long", 1): "3/8"}
guess = {"short": 0, "long": 1}.__getitem__
print("two independent patients guessed right:", joint_agreement(law, guess), "=", agreement(law, guess), "squared")
cost = network_cost(784, layers=2, width=128)
print(f"a network of 784-128-128-1: {cost.multiplications:,} products, {cost.sigmoids} sigmoids, {cost.bytes:,} bytes")

Path("out").mkdir(exist_ok=True)
sizes, shown = [2**k - 1 for k in range(1, 5)], []
for points in sizes:
    line = concepts(lambda c, x: x >= c, points=points, count=points + 1)
    for name, dimension in (("VC", vc_dimension), ("Littlestone", littlestone_dimension)):
        shown.append({"points": points, "dimension": dimension(line, points=points), "of": name})
chart = alt.Chart(alt.Data(values=shown), title="Thresholds on so many points").mark_line(point=True)
x = alt.X("points:Q", scale=alt.Scale(type="log", base=2))
chart.encode(x=x, y="dimension:Q", color=alt.Color("of:N", title=None)).save("out/65_dimensions.svg")
