"""From prior to posterior: what one private answer, or many, let anybody believe about one person.

An epsilon-DP answer moves odds by at most e^epsilon; asked again with fresh noise, by e^(2 epsilon), and so on.
Deniability wears out: after fifty answers at epsilon 0.1 an even guess may have become near certainty.
"""

from collections.abc import Hashable
from pathlib import Path

import altair as alt

from discreet.privacy import Deniability, FiniteMechanism, posterior, statistical_distance
from discreet.privacy.posterior import largest_shift

# --8<-- [start:bayes]
response = FiniteMechanism({"ill": {1: "3/4", 0: "1/4"}, "well": {1: "1/4", 0: "3/4"}}, neighbours=[("ill", "well")])
prior: dict[Hashable, str] = {"ill": "1/100", "well": "99/100"}
after = posterior(prior, response, 1)
print(f"believed ill: 1 % before, {float(after['ill']):.2%} after the answer 1")
print(f"moved by {float(statistical_distance(prior, after)):.4f}, at most {largest_shift(response.epsilon()):.4f}")
# --8<-- [end:bayes]

# --8<-- [start:repeats]
rows = []
for epsilon in (0.1, 1.0):
    one = Deniability(epsilon=epsilon, sensitivity=1)
    for repeats in (1, 2, 5, 10, 20, 30, 50, 100):
        rows.append({"answers": repeats, "belief": one.posterior(repeats=repeats), "epsilon": str(epsilon)})
    print(f"epsilon {epsilon}: even odds become at most {one.posterior(repeats=10):.4f} after ten answers")
test = Deniability(epsilon=1, sensitivity=1)
print(f"29 answers at epsilon 1 tell neighbours apart with error {test.test_error(repeats=29):.3f}")
# --8<-- [end:repeats]

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=rows), title="Most that even odds can become").mark_line(point=True)
x = alt.X("answers:Q", scale=alt.Scale(type="log"), title="answers with fresh noise")
y = alt.Y("belief:Q", scale=alt.Scale(domain=[0.5, 1]))
chart.encode(x=x, y=y, color="epsilon:N").save("out/17_beliefs.svg")
