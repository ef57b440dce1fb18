"""One training run, from public settings and private rows to a network: plan, sample, release, keep.

    rows given        rate = batch / rows, and the whole budget goes into the gradients
    rows not given    the number of rows is measured with a fiftieth of the budget, and the rest goes into the gradients

Theorem.  The run keeps its budget for one row added or removed, whatever `rows` is: a wrong guess makes batches larger
or smaller, and nothing else.  If the number is measured, the steps are chosen by what was measured, and the two add up
by basic composition, which allows that.  Proof: docs/theory/private_gradients.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import LedgerError, ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.neural.checkpoint import Checkpoint, State
from discreet.learning.neural.per_example_gradients import Activation, DenseNetwork, Gradients, Loss
from discreet.learning.neural.per_example_module import ModuleNetwork
from discreet.learning.neural.private_gradients import PrivateGradients
from discreet.learning.neural.probe import alike, close
from discreet.learning.neural.training import BlockSums, Descent, train
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.convert import root_up
from discreet.privacy.event import ApproxEvent, ComposedEvent, Event, ZCDPEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee
from discreet.privacy.number import exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch.nn import Module

COUNT = Fraction(1, 50)  # of the budget, for the number of rows
BLOCK = 80  # rows of a block on the processor, at most
TABLE = 512  # rows of a table on the processor, at most
SMALL = 1 << 20  # parameters of a network that is trained on one thread: more would wait for one another
BANDS = 8  # of correlated noise, unless given

Noise = Literal["independent", "correlated"]
After = Callable[[int, Gradients], float | None]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run is told; all of it public."""

    hidden: tuple[int, ...]
    epochs: int
    batch: int
    rows: int | None
    clip: float
    learning_rate: float
    momentum: float
    activation: Activation
    noise: Noise
    bands: int | None
    module: Module | None
    device: str
    seed: int
    checkpoint: str | None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            _whole(name, getattr(self, name))
        for name in ("rows", "bands"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name))
        for width in self.hidden:
            _whole("width", width)
        for name in ("clip", "learning_rate"):
            number = getattr(self, name)
            real = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
            require(real and 2.0**-20 <= number <= 2.0**20, f"{name} from 2^-20 to 2^20", **{name: number})
        still = isinstance(self.momentum, int | float) and not isinstance(self.momentum, bool)
        require(still and 0 <= self.momentum < 1, "0 <= momentum < 1", momentum=self.momentum)
        require(self.activation in ("relu", "tanh"), "activation relu or tanh", activation=self.activation)
        require(self.noise in ("independent", "correlated"), "noise independent or correlated", noise=self.noise)
        many = self.bands is None or (self.noise == "correlated") == (self.bands > 1)
        require(many, "bands > 1, with correlated noise only", bands=self.bands, noise=self.noise)
        require(self.device in ("cpu", "cuda"), "device cpu or cuda", device=self.device)
        require(isinstance(self.seed, int) and not isinstance(self.seed, bool), "an integer seed", seed=self.seed)

    def shape(self) -> tuple[int, int]:
        """Rows of a block and of a table: few tables, nearly full, of short blocks; on a device, one table."""
        usual = self.batch + 2 * math.isqrt(self.batch)
        if self.device != "cpu":
            size = -(-(usual + 2 * math.isqrt(self.batch)) // 64) * 64
            return size, size
        tables = -(-usual // TABLE)
        blocks = -(-usual // (tables * BLOCK))
        block = -(-usual // (tables * blocks * 8)) * 8
        return block, blocks * block

    def descent(self) -> Descent:
        """How weights move."""
        return Descent(batch=self.batch, clip=self.clip, learning_rate=self.learning_rate, momentum=self.momentum)

    def record(self, budget: Guarantee, charge: str | None = None) -> dict[str, Any]:
        """What a stopped run must agree on to go on; a charge of a ledger, if one paid for it."""
        kept = ("epochs", "batch", "rows", "clip", "learning_rate", "momentum", "noise", "bands", "seed", "activation")
        made = {name: getattr(self, name) for name in kept} | {"hidden": list(self.hidden), "budget": repr(budget)}
        return made if charge is None else {**made, "charge": charge}


def _whole(name: str, number: object) -> None:
    whole = isinstance(number, int) and not isinstance(number, bool)
    require(whole and number >= 1, f"an integer {name} >= 1", **{name: number})  # type: ignore[operator]


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a run is to go: from a checkpoint on, paid for by which charge, or rehearsed, without taking a step."""

    resume: bool = False
    charge: str | None = None
    rehearse: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """A network whose weights are released, and what that cost."""

    network: Gradients
    run: PrivateGradients
    event: Event
    scores: tuple[float | None, ...]


def run(
    settings: Settings,
    inputs: npt.NDArray[np.float32],
    targets: npt.NDArray[np.generic],
    *,
    outputs: int,
    loss: Loss,
    budget: Guarantee,
    way: Way | None = None,
    after: After = lambda epoch, network: None,
    rng: RandomSource | None = None,
) -> Trained:
    """Train on private rows; `after` is called with every epoch that ended, and may say how good the network is."""
    way = way or Way()
    torch = torch_or_refuse(settings.device)
    network, shown = (network_of(settings, inputs.shape[1], outputs, loss) for _ in range(2))
    bits = 53 if settings.device == "cuda" else 24
    with ExitStack() as stack:
        stack.enter_context(_threads(torch, 1 if len(network.weights) <= SMALL else torch.get_num_threads()))
        places = alike(network, inputs.shape[1], classes=outputs if loss == "classes" else 0)
        close(block=network.block, bits=bits, width=inputs.shape[1], device=settings.device)
        file, state = _opened(stack, settings, budget, way)
        rows, count, rest = _rows(settings, budget, len(inputs), None if state is None else state.rows, rng)
        plan, each = _plan(settings, network, rest, rows=rows, bits=bits)
        walk = Walk(network, shown, state)
        walk.check(plan.steps, each)
        if file is not None and state is None:  # a run that stops in its first epoch goes on as well
            file.save(walk.state(0, rows))

        def ended(step: int) -> None:
            if file is not None:  # before anything is shown
                file.save(walk.state(step, rows))
            walk.show(step // each, after)

        if walk.begin or way.rehearse:  # it may not have been shown before the run stopped
            walk.show(walk.begin // each, after)
        private, labels = (torch.from_numpy(part).to(settings.device) for part in (inputs, targets))
        train(
            BlockSums(network, private, labels, places=places, bits=bits),
            network, walk.velocity, walk.mean, plan, settings.descent(),
            rows=len(inputs), steps=range(walk.begin, plan.steps)[: 0 if way.rehearse else None], each=each,
            after=ended, rng=rng,
        )  # fmt: skip
        if file is not None and way.charge is None:  # else once the ledger has the model: going on now takes no step
            file.remove()
    event = plan.event() if count is None else ComposedEvent(events=(count, _promised(rest)))
    return Trained(network=walk.released(), run=plan, event=event, scores=tuple(walk.scores))


class Walk:
    """Where a run stands: the network that reads private rows, and another that is shown and never reads one.

    A module may keep what it has seen.  From `network` only weights go on, which are computed from noisy sums.
    """

    def __init__(self, network: Gradients, shown: Gradients, state: State | None) -> None:
        import torch

        self._network, self._shown = network, shown
        self.velocity, self.mean = torch.zeros_like(network.weights), network.weights.clone()
        self.begin, self.scores = 0, list[float | None]()
        if state is not None:
            same = len(state.weights) == len(network.weights)
            require(same, "the network of the stopped run", weights=len(state.weights))
            network.weights.copy_(torch.from_numpy(state.weights))
            self.velocity.copy_(torch.from_numpy(state.velocity))
            self.mean.copy_(torch.from_numpy(state.mean))
            self.begin, self.scores = state.step, list(state.scores)

    def check(self, steps: int, each: int) -> None:
        """Refuse a place at which no run of so many steps can have stopped."""
        shown = max(self.begin // each - 1, 0)
        if self.begin not in range(0, steps + 1, each) or len(self.scores) != shown:
            raise LedgerError("the file of the stopped run was edited: no run stops there")

    def state(self, step: int, rows: int) -> State:
        """What goes into a checkpoint."""
        parts = (self._network.weights, self.velocity, self.mean)
        weights, velocity, mean = (vector.cpu().numpy().copy() for vector in parts)
        return State(step, rows, weights, velocity, mean, tuple(self.scores))

    def released(self) -> Gradients:
        """The network with the mean of the weights."""
        self._shown.weights.copy_(self.mean)
        return self._shown

    def show(self, epoch: int, after: After) -> None:
        """Show it after an epoch, and keep what was said of it."""
        self.scores.append(after(epoch, self.released()))


def _opened(
    stack: ExitStack, settings: Settings, budget: Guarantee, way: Way
) -> tuple[Checkpoint | None, State | None]:
    """The file of the run, if it has one, and where it stopped, if it goes on."""
    if settings.checkpoint is None:
        if way.resume:
            raise ParameterError("need checkpoint=... to go on from one")
        return None, None
    file = stack.enter_context(Checkpoint(settings.checkpoint, settings.record(budget, way.charge)))
    if way.resume:
        return file, file.load()
    file.begin()
    return file, None


def _plan(
    settings: Settings, network: Gradients, budget: Guarantee, *, rows: int, bits: int
) -> tuple[PrivateGradients, int]:
    """The noise of all steps, and the steps of an epoch: whole rounds of classes."""
    bands = 1 if settings.noise == "independent" else settings.bands or BANDS
    rate = min(Fraction(1), Fraction(bands * settings.batch, rows))
    each = -(-rows // (settings.batch * bands)) * bands
    plan = PrivateGradients.meeting(
        budget, rate=rate, steps=each * settings.epochs, parameters=len(network.weights), bands=bands,
        block=network.block, bits=bits,
    )  # fmt: skip
    return plan, each


@contextmanager
def _threads(torch: Any, count: int) -> Iterator[None]:  # noqa: ANN401 - a module
    """So many threads and no other number, however busy the machine is: a product of matrices is then one program."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def torch_or_refuse(device: str) -> Any:  # noqa: ANN401 - a module
    """PyTorch, where it is installed and sees the device."""
    try:
        import torch
    except ImportError:
        raise UnsupportedError("neural networks need PyTorch: pip install 'discreet[neural]'") from None
    if device == "cuda" and not torch.cuda.is_available():
        raise UnsupportedError("PyTorch sees no graphics card here: take device='cpu'")
    return torch


def network_of(settings: Settings, width: int, outputs: int, loss: Loss) -> Gradients:
    """The network that training starts from."""
    block, table = settings.shape()
    if settings.module is not None:
        return ModuleNetwork(
            settings.module, clip=settings.clip, loss=loss, block=block, table=table, device=settings.device
        )
    return DenseNetwork(
        (width, *settings.hidden, outputs), clip=settings.clip, loss=loss, activation=settings.activation,
        block=block, table=table, device=settings.device, seed=settings.seed,
    )  # fmt: skip


def _rows(
    settings: Settings, budget: Guarantee, true: int, known: int | None, rng: RandomSource | None
) -> tuple[int, Event | None, Guarantee]:
    """About how many rows there are, what asking cost, and what is left."""
    if settings.rows is not None:
        return settings.rows, None, budget
    match budget:
        case ApproxDP():
            epsilon = exact(budget.epsilon)
            require(epsilon > 0, "epsilon > 0", epsilon=budget.epsilon)
            count = Laplace(epsilon=COUNT * epsilon, sensitivity=1)
            rest: Guarantee = ApproxDP((1 - COUNT) * epsilon, budget.delta, neighbours=budget.neighbours)
        case ZCDP():
            rho = exact(budget.rho)
            require(rho > 0, "rho > 0", rho=budget.rho)
            count = Gaussian.with_sigma(root_up(1 / (2 * COUNT * rho)), sensitivity=1)
            rest = ZCDP((1 - COUNT) * rho, neighbours=budget.neighbours)
        case _:
            raise UnsupportedError(f"training needs a budget such as ApproxDP(1.0, 1e-6), got {type(budget).__name__}")
    measured = int(count(true, rng=rng)) if known is None else known
    return max(measured, settings.batch), count.event(), rest


def _promised(rest: Guarantee) -> Event:
    """Some mechanism that keeps what was left: its steps were chosen after the count was seen."""
    if isinstance(rest, ApproxDP):
        return ApproxEvent(epsilon=rest.epsilon, delta=rest.delta)
    assert isinstance(rest, ZCDP)
    return ZCDPEvent(rho=rest.rho)
