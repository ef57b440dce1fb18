"""Export the curves of a batch: its privacy-loss distribution, its Renyi curve, and epsilon against delta.

The batch is 200 Laplace counts and 200 Gaussian ones, declared before the first answer.
"""

from pathlib import Path

import altair as alt

from discreet.composition import best, loss_columns, profile, renyi_columns, write_csv
from discreet.privacy.event import GaussianEvent, LaplaceEvent, RepeatedEvent

batch = [
    RepeatedEvent(event=LaplaceEvent(scale=50, sensitivity=1), count=200),
    RepeatedEvent(event=GaussianEvent(sigma=50, sensitivity=1), count=200),
]

out = Path("out")
out.mkdir(exist_ok=True)
losses, orders = loss_columns(batch), renyi_columns(batch)
curve = profile(batch, [10.0**-power for power in range(2, 13)])
write_csv(out / "losses.csv", losses)
write_csv(out / "renyi.csv", orders)
write_csv(out / "profile.csv", curve)
print("at delta 1e-6:", best(batch, 1e-6))
print("rows written:", {"losses": len(losses["loss"]), "renyi": len(orders["order"]), "profile": len(curve["delta"])})

every = max(1, len(losses["loss"]) // 400)
mass = [
    {"loss": loss, "mass": sum(losses["mass"][i * every : (i + 1) * every])}
    for i, loss in enumerate(losses["loss"][::every])
    if abs(loss) < 5
]
points = [{"delta": d, "epsilon": e} for d, e in zip(curve["delta"], curve["epsilon"], strict=True)]
left = alt.Chart(alt.Data(values=mass)).mark_area(opacity=0.6).encode(x="loss:Q", y="mass:Q")
right = (
    alt.Chart(alt.Data(values=points))
    .mark_line(point=True)
    .encode(x=alt.X("delta:Q", scale=alt.Scale(type="log")), y="epsilon:Q")
)
picture = left.properties(width=300, height=240, title="privacy loss") | right.properties(
    width=300, height=240, title="epsilon"
)
picture.save(str(out / "composition_curves.svg"))
