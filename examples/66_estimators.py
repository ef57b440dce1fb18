"""Private scikit-learn: declare what the columns may hold, say what a fit may cost, fit, predict."""

from pathlib import Path

import altair as alt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

import discreet as dc
from discreet.learning import LinearRegression, LinearSVC, LogisticRegression

# --8<-- [start:classify]
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
high = {"radius": 40, "texture": 60, "perimeter": 300, "area": 5000}  # declared, not measured
domain = dc.Domain({str(c): dc.Real(0, next((v for k, v in high.items() if k in c), 2)) for c in X})
model = LogisticRegression(budget=dc.ApproxDP(1.0, 1e-6), domain=domain).fit(X, y)
print(f"right on {model.score(X, y):.0%} of rows, for {model.privacy()}")
# --8<-- [end:classify]
print(f"{model.n_iter_} noisy steps; first coefficients {model.coef_[0, :3].round(1)}")

# --8<-- [start:budgets]
shown = [{"model": "LogisticRegression, (1, 1e-6)", "right": model.score(X, y)}]
for budget in (dc.PureDP(1.0), dc.ZCDP(0.02), dc.ApproxDP(0.3, 1e-6)):
    svc = LinearSVC(budget=budget, domain=domain).fit(X, y)
    shown.append({"model": f"LinearSVC, {budget}", "right": svc.score(X, y)})
    print(f"LinearSVC {svc.score(X, y):.0%} for {svc.privacy()}")
# --8<-- [end:budgets]

# --8<-- [start:regress]
rows, target = load_diabetes(return_X_y=True)
columns = dc.Domain({f"c{i}": dc.Real("-0.2", "0.2") for i in range(10)})
line = LinearRegression(budget=dc.ApproxDP(3.0, 1e-6), domain=columns, bounds=(0, 400)).fit(rows, target)
print(f"R2 {line.score(rows, target):.2f}, predictions from {line.predict(rows).min():.0f} to 400 at most")
# --8<-- [end:regress]
assert np.all((line.predict(rows) >= 0) & (line.predict(rows) <= 400))

Path("out").mkdir(exist_ok=True)
chart = alt.Chart(alt.Data(values=shown), title="Breast cancer, 569 rows").mark_bar()
chart = chart.encode(x="right:Q", y=alt.Y("model:N", sort=None, title=None, axis=alt.Axis(labelLimit=300)))
chart.save("out/66_estimators.svg")
