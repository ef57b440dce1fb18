"""A training run that is stopped goes on where it stood, and is paid for once; its noise is correlated.

With correlated noise a step takes back part of the noise of the steps before it (DP-FTRL).  The checkpoint holds only
what is public; it is written before an epoch is shown, and is gone when the run ends.
"""

import tempfile
from pathlib import Path

import altair as alt
import numpy as np

import discreet as dc
from discreet.errors import LedgerError
from discreet.learning import Epoch, NeuralNetwork

generator = np.random.default_rng(8)
rows = generator.uniform(-1, 1, size=(10_000, 2))
labels = rows[:, 0] * rows[:, 1] > 0
path = Path(tempfile.mkdtemp()) / "run.npz"


def power_cut(epoch: Epoch) -> None:
    print("epoch", epoch.number, "of", epoch.of)
    if epoch.number == 2:
        raise KeyboardInterrupt


# --8<-- [start:go_on]
network = NeuralNetwork(
    (32,), budget=dc.ApproxDP(2.0, 1e-6), domain=dc.Domain({"x": dc.Real(-1, 1), "y": dc.Real(-1, 1)}),
    rows=10_000, epochs=5, noise="correlated", bands=4, learning_rate=0.5, checkpoint=str(path), progress=power_cut,
)  # fmt: skip
try:
    network.fit(rows, labels)
except KeyboardInterrupt:
    print("stopped; a checkpoint is there:", path.exists())

network.set_params(progress=lambda epoch: print("epoch", epoch.number))
network.resume(rows, labels)
told = network.predict(rows[:500])
print(f"accuracy {network.score(rows, labels):.2f} for {network.privacy()}; checkpoint: {path.exists()}")
try:
    network.resume(rows, labels)
except LedgerError as error:
    print("a second time:", str(error).split(" at ")[0])
# --8<-- [end:go_on]

Path("out").mkdir(exist_ok=True)
shown = [{"x": float(a), "y": float(b), "says": str(t)} for (a, b), t in zip(rows, told, strict=False)]
chart = alt.Chart(alt.Data(values=shown), title="What the network says, after its stop").mark_circle(size=20)
chart.encode(x="x:Q", y="y:Q", color="says:N").save("out/73_stop_and_go_on.svg")
