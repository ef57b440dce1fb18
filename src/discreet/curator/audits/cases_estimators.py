"""The estimators of `discreet.learning`: no rows at all, or one; what is seen is the fitted model.

One row against none is the pair on which a row weighs most.  What is seen of a model are its parameters, or
what it says of the corners of the domain.  The claim is what a fitted model says of itself, `model.privacy()`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from discreet.curator.audits.case import Case, Cases, Seen, Subject
from discreet.data.columns import Integer
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.hazmat.entropy import RandomSource, SeededRandom
from discreet.privacy.enclosure import root_bounds
from discreet.privacy.guarantee import ZCDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.number import exact, up

FEATURES = Domain({"u": Integer(0, 4), "v": Integer(0, 4)})
LABELLED = Domain({**FEATURES, "label": Integer(0, 1)})
PARTS = ("coef_", "intercept_", "cluster_centers_", "components_", "explained_variance_", "mean_")


@functools.cache
def rows(count: int, *, labelled: bool, label: int = 1) -> Records:
    """So many rows in the far corner."""
    import pyarrow as pa

    domain = LABELLED if labelled else FEATURES
    values = {"u": [4] * count, "v": [4] * count, "label": [label] * count}
    return Records.from_frame(pa.table({name: pa.array(values[name], pa.int64()) for name in domain}), domain)


@functools.cache
def corners() -> Records:
    """The corners of the domain."""
    import numpy as np

    return Records(FEATURES, [np.array([0, 0, 4, 4]), np.array([0, 4, 0, 4])])


def seen(model: Any) -> list[float]:  # noqa: ANN401 - any estimator
    """Numbers of a fitted model: its parameters, or else what it says of the corners, without reading them anew."""
    import numpy as np

    parts = [np.ravel(getattr(model, name)) for name in PARTS if hasattr(model, name)]
    if not parts:
        says = getattr(model, "_scores", None) or model._values
        parts = [np.ravel(says(corners()))]
    return np.concatenate(parts).astype(np.float64).tolist()


def fits(
    fit: Callable[[int, RandomSource | None], Any],
    look: Callable[[Any], object],
    share: float = 0.0,
    claim: Callable[[Any], Guarantee] = lambda model: model.privacy(),
) -> Case:
    """What is seen of a model with one row and without, against what the fitted model claims."""
    claimed = functools.cache(lambda: claim(fit(0, SeededRandom(0))))
    return Case(Seen(lambda count, rng: look(fit(count, rng)), claimed), (0, 1), share, slow=True)


def estimator(name: str, **settings: Any) -> Cases:  # noqa: ANN401 - as the estimator says
    """An estimator with one row and without."""

    def cases(epsilon: float) -> Iterator[Case]:
        from discreet.learning.stored import named

        kind: Any = named(name)

        def fit(count: int, rng: RandomSource | None) -> Any:  # noqa: ANN401 - a fitted estimator
            model = kind(budget=PureDP(epsilon), **settings)
            target = "label" if model.supervised else None
            return model.fit_rows(rows(count, labelled=model.supervised), target=target, rng=rng)

        yield fits(fit, seen)

    return cases


def network(name: str) -> Cases:
    """One step over all rows from weights that are nothing: what is seen are the weights, and the claim is mu."""

    def cases(epsilon: float) -> Iterator[Case]:
        from discreet.learning.stored import named

        kind: Any = named(name)

        def fit(count: int, rng: RandomSource | None) -> Any:  # noqa: ANN401 - a fitted network
            model = kind(budget=ZCDP(epsilon**2 / 2), hidden=(), epochs=1, rows=2, batch=2, clip=0.01)
            return model.fit_rows(rows(count, labelled=True), target="label", rng=rng)

        yield fits(fit, lambda model: model.network_.weights.tolist(), 0.3, mu_of)

    return cases


def mu_of(model: Any) -> GaussianDP:  # noqa: ANN401 - a fitted network
    """One step over all rows is one Gaussian mechanism: the rho that it claims is that of mu = sqrt(2 rho)."""
    return GaussianDP(up(root_bounds(2 * exact(model.privacy().rho))[1]))


def bounds(epsilon: float) -> Iterator[Case]:
    """The bounds that are learned of two columns."""
    from discreet.learning.scaling import PrivateBounds

    def fit(count: int, rng: RandomSource | None) -> Any:  # noqa: ANN401 - fitted bounds
        return PrivateBounds(budget=PureDP(epsilon)).fit_rows(rows(count, labelled=False), rng=rng)

    yield fits(fit, lambda model: [end for one in model.domain_out_.values() for end in (one.low, one.high)])


def label_neighbours(epsilon: float) -> Iterator[Case]:
    """One row whose label changes."""
    from discreet.learning.vectors.nearest_neighbours_labels import LabelPrivateNeighbors

    def fit(label: int, rng: RandomSource | None) -> Any:  # noqa: ANN401 - a fitted classifier
        model = LabelPrivateNeighbors(1, budget=PureDP(epsilon))
        return model.fit_rows(rows(1, labelled=True, label=label), target="label", rng=rng)

    yield fits(fit, lambda model: float(model.reports_[0]), 0.5)


def neighbours(epsilon: float) -> Iterator[Case]:
    """What one query is told."""
    import numpy as np

    from discreet.learning.vectors.nearest_neighbours import KNeighborsClassifier

    far = Records(FEATURES, [np.array([4]), np.array([4])])

    def fit(count: int, rng: RandomSource | None) -> Any:  # noqa: ANN401 - a fitted classifier
        model = KNeighborsClassifier(1, queries=1, budget=PureDP(epsilon))
        return model.fit_rows(rows(count, labelled=True), target="label", rng=rng)

    yield fits(fit, lambda model: float(model._scores(far)[0].argmax()))


def pipeline(epsilon: float) -> Iterator[Case]:
    """Bounds, then classes."""
    from discreet.learning.pipeline import Pipeline
    from discreet.learning.scaling import PrivateBounds
    from discreet.learning.trees.naive_bayes import NaiveBayes

    steps = [("bounds", PrivateBounds()), ("classes", NaiveBayes(classes=(0, 1)))]

    def fit(count: int, rng: RandomSource | None) -> Any:  # noqa: ANN401 - a fitted pipeline
        import numpy as np

        model = Pipeline(steps, budget=PureDP(epsilon), domain=FEATURES)
        return model.fit(np.full((count, 2), 4.0), np.ones(count, dtype=np.int64), rng=rng)

    yield fits(fit, lambda model: [float(number) for number in model.last_.class_log_prior_])


def validated(epsilon: float) -> Iterator[Case]:
    """Scores of two folds: what `cross_val_score` returns, and every point of a curve of budgets is a mean of such."""
    import numpy as np

    from discreet.learning.cross_validation import cross_validate
    from discreet.learning.trees.naive_bayes import NaiveBayes

    model = NaiveBayes(domain=FEATURES, classes=(0, 1))

    def fit(count: int, rng: RandomSource | None) -> Any:  # noqa: ANN401 - what was found
        x, y = np.full((count, 2), 4.0), np.ones(count, dtype=np.int64)
        return cross_validate(model, x, y, budget=PureDP(epsilon), folds=2, share="0.5", rng=rng)

    yield fits(fit, lambda found: [float(score) for score in found.scores])


def scaler(epsilon: float) -> Iterator[Case]:
    """Declared bounds read no rows."""
    from discreet.learning.scaling import DeclaredScaler

    def look(count: int, rng: RandomSource | None) -> object:
        return str(DeclaredScaler(domain=FEATURES).fit(rows(count, labelled=False), rng=rng).get_feature_names_out())

    yield Case(Seen(look, PureDP(0)), (0, 1), slow=True)  # reads no rows, and so has no budget to claim


def _subject(name: str, cases: Cases, twin: float | None, slow: int = 300, **more: Any) -> Subject:  # noqa: ANN401 - names
    return Subject(name=name, room="learning", cases=cases, twin=twin, slow=slow, **{"replays": 1, **more})


SUBJECTS = (
    _subject("LinearRegression", estimator("LinearRegression"), 500, 600),
    _subject("Ridge", estimator("Ridge"), 500, 600),
    _subject("LogisticRegression", estimator("LogisticRegression"), 1000, 600),
    _subject("LinearSVC", estimator("LinearSVC"), 1000, 600),
    _subject("NaiveBayes", estimator("NaiveBayes"), 20),
    _subject("DecisionTreeClassifier", estimator("DecisionTreeClassifier"), 50),
    _subject("RandomForestClassifier", estimator("RandomForestClassifier", trees=2), 50, 500),
    _subject("GradientBoostedTrees", estimator("GradientBoostedTrees"), 200),
    _subject("GradientBoostedTreesRegressor", estimator("GradientBoostedTreesRegressor"), 100),
    _subject("MaximumLikelihoodClassifier", estimator("MaximumLikelihoodClassifier"), 100),
    _subject("KNeighborsClassifier", neighbours, 20, 1000),
    _subject("LabelPrivateNeighbors", label_neighbours, 3, 600),
    _subject("KMeans", estimator("KMeans", n_clusters=1), 50),
    _subject("PCA", estimator("PCA", n_components=1), 50),
    _subject("PrivateBounds", bounds, 100, 1000),
    _subject("Pipeline", pipeline, 50, 200),
    _subject("cross_validate", validated, 200, covers=("cross_val_score", "accuracy_curve")),
    _subject("DeclaredScaler", scaler, None, 200, replays=0),
    _subject("NeuralNetwork", network("NeuralNetwork"), 3, 600, replays=0, needs="torch"),
    _subject("NeuralNetworkRegressor", network("NeuralNetworkRegressor"), 3, 600, replays=0, needs="torch"),
)
