"""What more privacy would cost: accuracy against epsilon, on public rows for nothing, on private rows for a price."""

from pathlib import Path

import numpy as np

import discreet as dc
from discreet.learning import LogisticRegression, accuracy_curve

rng = np.random.default_rng(0)
X = rng.integers(0, 100, (2000, 4))
y = X.sum(axis=1) + rng.normal(0, 30, 2000) > 200
domain = dc.Domain({name: dc.Integer(0, 99) for name in "abcd"})
model = LogisticRegression(domain=domain)

# --8<-- [start:public]
budgets = [dc.ApproxDP(epsilon, 1e-6) for epsilon in (0.1, 0.3, 1, 3)]
curve = accuracy_curve(model, X, y, budgets=budgets, public=True, fits=5)  # made-up rows like yours
for budget, point in zip(budgets, curve.points, strict=True):
    print(f"epsilon {budget.epsilon:4}: {point.mean:.2f}, mostly {point.low:.2f} to {point.high:.2f}")
picture = curve.plot()
# --8<-- [end:public]

# --8<-- [start:private]
paid = accuracy_curve(model, X, y, budgets=[dc.ZCDP(0.1), dc.ZCDP(0.5)], public=False, fits=3)
print([f"{point.mean:.2f}" for point in paid.points], "for", paid.privacy())
# --8<-- [end:private]

Path("out").mkdir(exist_ok=True)
picture.save("out/67_accuracy_curve.svg")
