"""Neural networks trained by noisy gradients of clipped length, as estimators.

Theorem.  `fit` keeps `budget` for one row added or removed: every row is read by the declaration alone (`estimator`),
and everything that is computed from rows is computed from the noisy sums of `private_gradients`, whose noise is chosen
for the budget; what is shown along the way is computed from them too.  Proof: docs/theory/private_gradients.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from discreet.data.columns import Column
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import LedgerError, ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateClassifier, PrivateRegressor
from discreet.learning.neural.checkpoint import Checkpoint
from discreet.learning.neural.per_example_gradients import Activation, Gradients, Loss
from discreet.learning.neural.run import Noise, Settings, Trained, Way, network_of, run
from discreet.learning.reading import as_table
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import numpy.typing as npt
    from torch.nn import Module

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Epoch:
    """A pass that ended, and how good the network is on the public rows, if there are any.

    >>> Epoch(number=2, of=5, public_score=0.91).public_score
    0.91
    """

    number: int
    of: int
    public_score: float | None


class _Network:
    """What the classifier and the regression share: settings, features, going on from a checkpoint."""

    domain_: Domain
    network_: Gradients
    approximate = True  # random batches are worth nothing in zCDP
    by_itself = False  # products of matrices round a row by its place among others
    watching = ("progress", "checkpoint")
    _way = Way()

    def _settings(self) -> Settings:
        names = (
            "epochs", "batch", "rows", "clip", "learning_rate", "momentum", "activation", "noise", "bands", "module",
            "device", "seed",
        )  # fmt: skip
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        told: object = self.progress  # type: ignore[attr-defined]
        require(told is None or callable(told), "a function of an Epoch for progress", progress=type(told).__name__)
        hidden: Sequence[int] = self.hidden  # type: ignore[attr-defined]
        path: object = self.checkpoint  # type: ignore[attr-defined]
        return Settings(hidden=tuple(hidden), checkpoint=None if path is None else str(path), **given)

    def _features(self, rows: Records) -> npt.NDArray[np.float32]:
        import numpy as np

        return Design(self.domain_).floats(rows).astype(np.float32)

    def _outputs(self, network: Gradients, rows: npt.NDArray[np.float32]) -> Floats:
        """What a network makes of rows, a few at a time."""
        import numpy as np
        import torch

        device = network.weights.device
        with torch.no_grad():
            parts = [
                network.outputs(torch.from_numpy(rows[at : at + 4096]).to(device)).cpu().numpy()
                for at in range(0, max(len(rows), 1), 4096)
            ]
        return np.concatenate(parts).astype(np.float64)

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        assert target is not None
        self._keep(self._train(rows, target, budget, rng))

    def _train(self, rows: Records, target: str, budget: Guarantee, rng: RandomSource | None) -> Trained:
        settings = self._settings()
        public = self._public()
        progress: Callable[[Epoch], None] | None = self.progress  # type: ignore[attr-defined]

        def after(number: int, network: Gradients) -> float | None:
            score = None if public is None else self._public_score(network, *public)
            if progress is not None:
                progress(Epoch(number, settings.epochs, score))
            return score

        inputs, targets = self._features(rows), self._targets(rows.column(target))
        outputs, loss = self._kind()
        kind = {"outputs": outputs, "loss": loss, "way": self._way}
        return run(settings, inputs, targets, budget=budget, after=after, rng=rng, **kind)

    def _public(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[Any]] | None:
        import numpy as np

        given: tuple[object, object] | None = self.public_rows  # type: ignore[attr-defined]
        if given is None:
            return None
        rows, labels = given
        read = Records.from_frame(as_table(rows, self.domain_), self.domain_, every_row=True)
        return self._features(read), np.asarray(labels)

    def _targets(self, positions: npt.NDArray[np.integer]) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _public_score(self, network: Gradients, rows: npt.NDArray[np.float32], labels: npt.NDArray[Any]) -> float:
        raise NotImplementedError

    def _keep(self, trained: Trained) -> None:
        """What a fitted model has."""
        self.network_, self.run_, self.event_ = trained.network, trained.run, trained.event
        epochs = len(trained.scores)
        self.history_ = [Epoch(place + 1, epochs, score) for place, score in enumerate(trained.scores)]

    def _learned(self) -> dict[str, Any]:
        """The weights in place of the network; a module of the user's own cannot be written."""
        if self.module is not None:  # type: ignore[attr-defined]
            raise UnsupportedError("a network around a module of your own cannot be stored: keep its state_dict")
        learned = super()._learned()  # type: ignore[misc]
        return {**learned, "network_": self.network_.weights.cpu().numpy()}

    def _relearn(self, learned: dict[str, Any]) -> None:
        import torch

        super()._relearn(learned)  # type: ignore[misc]
        width, (outputs, loss) = Design(self.domain_).width, self._kind()
        weights = torch.from_numpy(learned["network_"].copy())
        self.network_ = network_of(self._settings(), width, outputs, loss)
        if weights.shape != self.network_.weights.shape:
            raise ParameterError("the stored network has another shape than these settings")
        self.network_.weights.copy_(weights)

    def _kind(self) -> tuple[int, Loss]:
        """How many outputs there are, and the loss."""
        raise NotImplementedError

    def resume(self, X: object, y: object, *, rng: RandomSource | None = None) -> Self:
        """Go on with the run that stopped at `checkpoint`, on the same rows, at no further charge.

        A run of `curator.fit` goes on by the same call of `curator.fit`, which knows who paid for it.
        """
        self._way = Way(resume=True)
        try:
            return self.fit(X, y, rng=rng)  # type: ignore[attr-defined]
        finally:
            self._way = Way()

    def _rehearsal(self) -> Self:
        """All that is planned and looked at before the first step, and the public rows; nobody is shown anything."""
        self._settings()
        made = super()._rehearsal().set_params(progress=None, checkpoint=None)  # type: ignore[misc]
        made._way = Way(rehearse=True)
        return made

    def _waits(self, budget: Guarantee) -> str | None:
        settings = self._settings()
        if settings.checkpoint is None:
            return None
        try:
            with Checkpoint(settings.checkpoint, {}) as file:  # nobody else goes on from it
                charge = file.charge() if file.exists() else None
        except OSError:
            raise ParameterError("need a checkpoint in a folder that can be written") from None
        if charge:
            Checkpoint(settings.checkpoint, settings.record(budget, charge)).load()
        return charge

    def _paid_by(self, charge: str | None, *, goes_on: bool = False) -> None:
        self._way = Way(charge=charge, resume=goes_on)

    def _ended(self, charge: str) -> None:
        self._way = Way()
        settings = self._settings()
        if settings.checkpoint is not None:
            file = Checkpoint(settings.checkpoint, {})
            with suppress(LedgerError):  # no file of ours
                if file.exists() and file.charge() == charge:
                    file.remove()

    def plot_history(self, name: str | None = None) -> alt.Chart:
        """The curve of learning on the public rows; curves that have names can be laid over one another.

        >>> import numpy as np
        >>> from discreet.data import Domain, Real
        >>> from discreet.privacy import ApproxDP
        >>> X = np.random.default_rng(1).uniform(-1, 1, size=(300, 1))
        >>> how = {"domain": Domain({"x": Real(-1, 1)}), "rows": 200, "batch": 50, "epochs": 3}
        >>> public = (X[200:], X[200:, 0] > 0)
        >>> model = NeuralNetwork((4,), budget=ApproxDP(2.0, 1e-6), public_rows=public, **how)
        >>> chart = model.fit(X[:200], X[:200, 0] > 0).plot_history("one")
        >>> [point["epoch"] for point in chart.to_dict()["data"]["values"]]
        [1, 2, 3]
        """
        try:
            import altair as alt
        except ImportError:
            raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None
        self.privacy()  # type: ignore[attr-defined]
        values = [
            {"epoch": epoch.number, "score": epoch.public_score, "network": name}
            for epoch in self.history_
            if epoch.public_score is not None
        ]
        if not values:
            raise ParameterError("need public_rows=(X, y): a curve of learning is about rows that are public")
        x, y = alt.X("epoch:Q", axis=alt.Axis(tickMinStep=1)), alt.Y("score:Q", scale=alt.Scale(zero=False))
        chart = alt.Chart(alt.Data(values=values)).mark_line(point=True).encode(x=x, y=y)
        return chart if name is None else chart.encode(color=alt.Color("network:N", title=None))


class NeuralNetwork(_Network, PrivateClassifier):
    """A classifier: dense layers of the widths `hidden`, or any PyTorch `module` from features to one output a class.

    `rows` is about how many rows there are, a public guess; without it a fiftieth of the budget is spent on asking.
    `batch` rows are taken on average a step, `epochs` times all rows.  Gradients are clipped to the length `clip`.
    `noise="correlated"` cancels part of the noise of a step in the next ones (DP-FTRL).  `public_rows=(X, y)` are
    held-out rows that are public: the curve `history_` is about them.  `progress` is called after each epoch.
    With `checkpoint` a run that is stopped goes on with `resume`.

    >>> import numpy as np
    >>> from discreet.data import Domain, Real
    >>> from discreet.privacy import ApproxDP
    >>> X = np.random.default_rng(1).uniform(-1, 1, size=(2000, 2))
    >>> domain = Domain({"x": Real(-1, 1), "y": Real(-1, 1)})
    >>> model = NeuralNetwork((16,), budget=ApproxDP(2.0, 1e-6), domain=domain, rows=2000, batch=200, epochs=5)
    >>> bool(model.fit(X, X[:, 0] > X[:, 1]).score(X, X[:, 0] > X[:, 1]) > 0.9)
    True
    >>> model.privacy()
    ApproxDP(epsilon=2.0, delta=1e-06)
    """

    def __init__(
        self,
        hidden: Sequence[int] = (128,),
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        classes: Sequence[object] | None = None,
        rows: int | None = None,
        epochs: int = 20,
        batch: int = 256,
        clip: float = 1.0,
        learning_rate: float = 0.2,
        momentum: float = 0.9,
        activation: Activation = "tanh",
        noise: Noise = "independent",
        bands: int | None = None,
        module: Module | None = None,
        device: str = "cpu",
        seed: int = 0,
        public_rows: tuple[object, object] | None = None,
        progress: Callable[[Epoch], None] | None = None,
        checkpoint: str | None = None,
    ) -> None:
        self.hidden, self.budget, self.domain, self.classes = hidden, budget, domain, classes
        self.rows, self.epochs, self.batch, self.clip = rows, epochs, batch, clip
        self.learning_rate, self.momentum, self.activation = learning_rate, momentum, activation
        self.noise, self.bands, self.module, self.device, self.seed = noise, bands, module, device, seed
        self.public_rows, self.progress, self.checkpoint = public_rows, progress, checkpoint

    def _kind(self) -> tuple[int, Loss]:
        return len(self.classes_), "classes"

    def _targets(self, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        import numpy as np

        return positions.astype(np.int64)

    def _public_score(self, network: Gradients, rows: npt.NDArray[np.float32], labels: npt.NDArray[Any]) -> float:
        return float((self.classes_[self._outputs(network, rows).argmax(axis=1)] == labels).mean())

    def _scores(self, rows: Records) -> Floats:
        return self._outputs(self.network_, self._features(rows))

    def predict_proba(self, X: object) -> Floats:
        """The probability of each class, as the network sees it."""
        import numpy as np

        scores = self._scores(self._read(X))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


class NeuralNetworkRegressor(_Network, PrivateRegressor):
    """A regression with the settings of `NeuralNetwork`; `bounds` declares the range of the target.

    >>> import numpy as np
    >>> from discreet.data import Domain, Real
    >>> from discreet.privacy import ApproxDP
    >>> X = np.random.default_rng(1).uniform(-1, 1, size=(2000, 1))
    >>> model = NeuralNetworkRegressor((16,), budget=ApproxDP(2.0, 1e-6), domain=Domain({"x": Real(-1, 1)}),
    ...                                bounds=(-1, 1), rows=2000, batch=200, epochs=5)
    >>> bool(model.fit(X, X[:, 0] ** 3).score(X, X[:, 0] ** 3) > 0.5)
    True
    """

    def __init__(
        self,
        hidden: Sequence[int] = (128,),
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        bounds: tuple[float, float] | None = None,
        rows: int | None = None,
        epochs: int = 20,
        batch: int = 256,
        clip: float = 1.0,
        learning_rate: float = 0.2,
        momentum: float = 0.9,
        activation: Activation = "tanh",
        noise: Noise = "independent",
        bands: int | None = None,
        module: Module | None = None,
        device: str = "cpu",
        seed: int = 0,
        public_rows: tuple[object, object] | None = None,
        progress: Callable[[Epoch], None] | None = None,
        checkpoint: str | None = None,
    ) -> None:
        self.hidden, self.budget, self.domain, self.bounds = hidden, budget, domain, bounds
        self.rows, self.epochs, self.batch, self.clip = rows, epochs, batch, clip
        self.learning_rate, self.momentum, self.activation = learning_rate, momentum, activation
        self.noise, self.bands, self.module, self.device, self.seed = noise, bands, module, device, seed
        self.public_rows, self.progress, self.checkpoint = public_rows, progress, checkpoint

    def _kind(self) -> tuple[int, Loss]:
        return 1, "squares"

    def _range(self) -> tuple[float, float]:
        column: Column | None = self.target_
        assert column is not None
        low, high = (float(column.decode(code)) for code in column.codes)  # type: ignore[arg-type]
        require(high > low, "a target that can take two values", low=low, high=high)
        return low, high

    def _targets(self, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.float32]:
        import numpy as np

        column: Column | None = self.target_
        assert column is not None
        last = max(column.codes[1] - column.codes[0], 1)
        return ((2 * positions.astype(np.float64) - last) / last).astype(np.float32)

    def _predicted(self, network: Gradients, rows: npt.NDArray[np.float32]) -> Floats:
        low, high = self._range()
        return (self._outputs(network, rows)[:, 0].clip(-1, 1) + 1) / 2 * (high - low) + low

    def _public_score(self, network: Gradients, rows: npt.NDArray[np.float32], labels: npt.NDArray[Any]) -> float:
        from sklearn.metrics import r2_score

        return float(r2_score(labels, self._predicted(network, rows)))

    def _values(self, rows: Records) -> Floats:
        return self._predicted(self.network_, self._features(rows))
