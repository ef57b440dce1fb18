"""Private training of a network with 784, 128 and 10 units on 60,000 rows, against plain PyTorch and Opacus.

CPU seconds of one epoch of 235 steps with 256 rows on average, one thread, all three in turn, a few steps at a time,
so that a busy machine slows them alike.  Opacus (ghost clipping, its fastest mode for dense layers) is measured where
it is installed, or in the folder that DISCREET_OPACUS names; its time is given without its data loader.  Accuracy is
that of one pass at epsilon 1 on rows made up for ten classes.  On a graphics card examples a second are compared with
PyTorch on the same card; where there is none the figures of the last run with one are kept.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import Row, absent, kept, publish, size
from discreet.learning.neural.batches import Batches
from discreet.learning.neural.noise import NoisySums
from discreet.learning.neural.per_example_gradients import DenseNetwork
from discreet.learning.neural.private_gradients import PrivateGradients
from discreet.learning.neural.probe import alike
from discreet.learning.neural.run import Settings
from discreet.learning.neural.training import BlockSums

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

ROWS, BATCH, STEPS = size((60_000, 256, 235), quick=(1200, 64, 19))
TURNS, EACH = size((24, 10), quick=(1, 2))  # turns of so many steps
ON_CARD = "on a card: "


def measure() -> list[Row]:
    if importlib.util.find_spec("torch") is None:
        return [absent("training of networks: PyTorch is not installed"), *_card()]
    return [*_processor(), *_card()]


def _settings(batch: int, device: str) -> Settings:
    return Settings(
        hidden=(128,), epochs=1, batch=batch, rows=ROWS, clip=1.0, learning_rate=0.2, momentum=0.9, activation="relu",
        noise="independent", bands=None, module=None, device=device, seed=0, checkpoint=None,
    )  # fmt: skip


def _data(device: str) -> tuple[Tensor, Tensor]:
    import torch

    generator = torch.Generator().manual_seed(1)
    centres = torch.randn(10, 784, generator=generator) * 0.1
    labels = torch.randint(10, (ROWS,), generator=generator)
    rows = (torch.randn(ROWS, 784, generator=generator) * 0.5 + centres[labels]).clamp_(-1, 1)
    return rows.to(device), labels.to(device)


def _ours(rows: Tensor, labels: Tensor, *, batch: int, widths: tuple[int, ...], device: str) -> Callable[[int], None]:
    """Our steps, as `train` takes them."""
    import torch

    block, table = _settings(batch, device).shape()
    network = DenseNetwork(widths, clip=1.0, block=block, table=table, device=device)
    run = PrivateGradients(
        noise_multiplier=1.1, rate=Fraction(batch, ROWS), steps=10**6, parameters=len(network.weights), block=block,
        bits=24 if device == "cpu" else 53,
    )  # fmt: skip
    sums = BlockSums(network, rows, labels, places=alike(network, widths[0], classes=widths[-1]), bits=run.bits)
    batches, noisy = Batches(rows=ROWS, rate=run.rate), NoisySums(run, device=device)
    velocity, mean = torch.zeros_like(network.weights), network.weights.clone()
    taken = iter(range(10**6))

    def steps(count: int) -> None:
        for _ in range(count):
            gradient = noisy.release(sums(batches.take(next(taken))))
            velocity.mul_(0.9).add_(gradient, alpha=1 / batch)
            network.weights.sub_(velocity, alpha=0.2)
            mean.lerp_(network.weights, 0.01)

    return steps


def _model(widths: tuple[int, ...], device: str) -> Module:
    import torch

    layers: list[Any] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]).to(device)


def _plain(rows: Tensor, labels: Tensor, *, batch: int, widths: tuple[int, ...], device: str) -> Callable[[int], None]:
    """PyTorch without privacy: shuffled batches, the same network and optimiser."""
    import torch

    model = _model(widths, device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    loss = torch.nn.CrossEntropyLoss()

    def steps(count: int) -> None:
        for chosen in torch.randperm(ROWS, device=device)[: count * batch].split(batch):
            optimiser.zero_grad()
            loss(model(rows[chosen]), labels[chosen]).backward()
            optimiser.step()

    return steps


def _opacus(rows: Tensor, labels: Tensor) -> Callable[[int], None] | None:
    """Opacus with ghost clipping and Poisson sampling; batches are drawn before the clock starts."""
    import torch

    if os.environ.get("DISCREET_OPACUS"):
        sys.path.append(os.environ["DISCREET_OPACUS"])
    warnings.simplefilter("ignore")
    try:
        engine = importlib.import_module("opacus").PrivacyEngine
    except ImportError:
        return None
    model = _model((784, 128, 10), "cpu")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows, labels), batch_size=BATCH)
    model, optimiser, loss, loader = engine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9), data_loader=loader,
        criterion=torch.nn.CrossEntropyLoss(), noise_multiplier=1.1, max_grad_norm=1.0, grad_sample_mode="ghost",
        poisson_sampling=True,
    )  # fmt: skip
    drawn = [batch for _, batch in zip(range(EACH), loader, strict=False)]

    def steps(count: int) -> None:
        for inputs, targets in drawn[:count]:
            optimiser.zero_grad()
            loss(model(inputs), targets).backward()
            optimiser.step()

    return steps


def _processor() -> list[Row]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rows, labels = _data("cpu")
    widths = (784, 128, 10)
    runs = {
        "ours": _ours(rows, labels, batch=BATCH, widths=widths, device="cpu"),
        "plain": _plain(rows, labels, batch=BATCH, widths=widths, device="cpu"),
    }
    peer = _opacus(rows, labels)
    if peer is not None:
        runs["opacus"] = peer
    spent = dict.fromkeys(runs, 0.0)
    for steps in runs.values():
        steps(EACH)
    for _ in range(TURNS):
        for name, steps in runs.items():
            start = time.process_time()
            steps(EACH)
            spent[name] += time.process_time() - start
    epoch = {name: seconds * STEPS / (TURNS * EACH) for name, seconds in spent.items()}
    torch.set_num_threads(threads)
    ratio = epoch["ours"] / epoch["plain"]
    made = [
        Row(what="an epoch, plain PyTorch", value=epoch["plain"], unit="CPU s"),
        Row(what="an epoch, ours", value=epoch["ours"], unit="CPU s"),
        Row(what="ours / plain", value=ratio, unit="x", promise="<= 2", holds=ratio <= 2),
        Row(what="accuracy after one epoch at epsilon 1, delta 1e-6", value=_accuracy(rows, labels), unit=""),
    ]
    if peer is None:
        return [*made, absent("Opacus")]
    against = epoch["ours"] / epoch["opacus"]
    return [
        *made,
        Row(what="an epoch, Opacus with ghost clipping", value=epoch["opacus"], unit="CPU s"),
        Row(what="ours / Opacus", value=against, unit="x", promise="<= 1", holds=against <= 1),
    ]


def _accuracy(rows: Tensor, labels: Tensor) -> float:
    from discreet.learning.neural.run import run
    from discreet.privacy.guarantee import ApproxDP

    half = ROWS - ROWS // 6
    trained = run(
        _settings(BATCH, "cpu"), rows[:half].numpy(), labels[:half].numpy(), outputs=10, loss="classes",
        budget=ApproxDP(1.0, 1e-6),
    )  # fmt: skip
    return float((trained.network.outputs(rows[half:]).argmax(1) == labels[half:]).float().mean())


def _card() -> list[Row]:
    try:
        import torch

        seen = torch.cuda.is_available()
    except ImportError:
        seen = False
    if not seen:
        return kept("neural", starting=ON_CARD) or [absent("training on a card")]
    rows, labels = _data("cuda")
    made = []
    for widths in ((784, 128, 10), (784, 2048, 2048, 10)):
        for batch in (256, 4096):
            speeds = [
                _speed(make(rows, labels, batch=batch, widths=widths, device="cuda"), batch) for make in (_ours, _plain)
            ]
            name = f"{ON_CARD}{'-'.join(map(str, widths))}, batch {batch}"
            made += [
                Row(what=f"{name}, ours", value=speeds[0], unit="examples/s"),
                Row(what=f"{name}, plain / ours", value=speeds[1] / speeds[0], unit="x"),
            ]
    return made


def _speed(steps: Callable[[int], None], batch: int) -> float:
    """Examples a second: the median of a few turns."""
    import torch

    count = max(3, min(60, ROWS // batch))
    steps(count)
    found = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        steps(count)
        torch.cuda.synchronize()
        found.append(count * batch / (time.perf_counter() - start))
    return float(np.median(found))


if __name__ == "__main__":
    sys.exit(0 if publish("neural", measure()) else 1)
