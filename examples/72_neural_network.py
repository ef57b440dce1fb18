"""A neural network whose weights are private: clipped gradients of random samples, with noise for a budget.

Two rings of points, of which no straight line tells one from the other.  The number of rows is not told: it is
measured with a fiftieth of the budget.  The curve of learning is drawn on rows that are public.
"""

from pathlib import Path

import altair as alt
import numpy as np

import discreet as dc

generator = np.random.default_rng(7)
outer = generator.random(11_000) < 0.5
angle, noise = generator.uniform(0, 2 * np.pi, 11_000), generator.normal(0, 0.08, 11_000)
radius = np.where(outer, 0.8, 0.35) + noise
points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
patients, labels, public, answers = points[:10_000], outer[:10_000], points[10_000:], outer[10_000:]

# --8<-- [start:fit]
from discreet.learning import NeuralNetwork

domain = dc.Domain({"x": dc.Real(-1, 1), "y": dc.Real(-1, 1)})
curves = []
for epsilon in (0.5, 2.0):
    budget = dc.ApproxDP(epsilon, 1e-6)
    network = NeuralNetwork((32,), budget=budget, domain=domain, epochs=8, public_rows=(public, answers))
    network.fit(patients, labels)
    curves.append(network.plot_history(f"epsilon {epsilon}"))
    curve = " ".join(f"{epoch.public_score:.2f}" for epoch in network.history_)
    print(f"epsilon {epsilon}: {curve}  noise multiplier {network.run_.noise_multiplier:.2f}")
# --8<-- [end:fit]
print(network.privacy(), "for all epochs and the count together")

Path("out").mkdir(exist_ok=True)
alt.layer(*curves, title="Two rings, told apart (one run each)").save("out/72_neural_network.svg")
