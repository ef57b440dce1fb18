"""Where the rooms beside this one release what is private: learners, noisy gradients, reports of the local model.

They are found by name, when something is recorded: `attacks` imports neither `learning` nor `local`.  A learner of
hypotheses is one release: one row more, or another where their number is public, is what it declares.  A local
protocol releases one report a user: one user may hold something else.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from discreet.attacks.hooks import Labelled, moves
from discreet.attacks.replay import Hook
from discreet.privacy.event import PureEvent

BLOCK = 64  # rows whose gradients are added in single precision at a time


def examples(_learner: object, x: Any, y: Any) -> Counter[tuple[bytes, object]]:  # noqa: ANN401 - rows and labels
    """Rows with their labels, in no order."""
    import numpy as np

    rows = np.ascontiguousarray(getattr(x, "words", x))
    labels = np.ravel(np.asarray(y)).tolist()
    return Counter((row.tobytes(), label) for row, label in zip(rows, labels, strict=True))


def changed(learner: Labelled, one: Counter[Any], two: Counter[Any]) -> float:
    """Rows that came or went; where their number is public, how many were replaced."""
    went, came = ((a - b).total() for a, b in ((one, two), (two, one)))
    public = getattr(learner.mechanism, "n", None) is not None
    return float(max(went, came) if public else went + came)


def named(learner: Any) -> Labelled:  # noqa: ANN401 - a learner
    """By its class and its parameters."""
    parameters = ("points", "epsilon", "delta", "blocks", "n", "neighbours")
    told = ", ".join(f"{name}={getattr(learner, name)!r}" for name in parameters if hasattr(learner, name))
    return Labelled(f"{type(learner).__name__}({told})", learner)


def sums_apart(_noisy: object, one: Any, two: Any) -> float:  # noqa: ANN401 - arrays
    """The l2 distance of two sums of gradients over the sensitivity of the theorem, in single precision."""
    unit = Fraction(1, 2**24)
    grown = BLOCK * unit / (1 - BLOCK * unit)
    gradients = importlib.import_module("discreet.learning.neural.private_gradients")
    most = 2**gradients.POINT * float((1 + gradients.SLACK) * (1 + 4 * BLOCK * grown)) + 2 * math.sqrt(len(one))
    return math.sqrt(sum(move * move for move in moves(one, two))) / most


def users_apart(_protocol: object, one: Any, two: Any) -> float:  # noqa: ANN401 - arrays
    """How many users hold something else: one may, of those who report together."""
    import numpy as np

    return float(sum(not np.array_equal(a, b) for a, b in zip(one, two, strict=True)))


def _copied(_protocol: object, values: Any, _random: object) -> Any:  # noqa: ANN401 - what users hold
    import numpy as np

    return np.array(values)


def _protocols(kind: type) -> Iterator[type]:
    """Every protocol that draws reports."""
    for one in kind.__subclasses__():
        yield from _protocols(one)
        if "draw" in vars(one):
            yield one


@functools.cache
def learners() -> tuple[Hook, ...]:
    """The learners of hypotheses, and the noisy sums of training, whose price is that of the whole run."""
    sets = {
        "exponential.ExponentialLearner": ("index_", "hypothesis_"),
        "threshold.ThresholdLearner": ("threshold_",),
        "parity.ParityLearner": ("parity_", "answers_"),
    }
    made = []
    for name, found in sets.items():
        module, _, kind = name.partition(".")
        owner = getattr(importlib.import_module(f"discreet.learning.pac.{module}"), kind)
        made.append(Hook(owner=owner, name="fit", fed=examples, distance=changed, public=named, sets=found))
    noise = importlib.import_module("discreet.learning.neural.noise")
    sums = Hook(
        owner=noise.NoisySums, name="release", distance=sums_apart, event=None,
        fed=lambda _noisy, total: total.numpy().copy(), public=lambda noisy: noisy._coefficients,
    )  # fmt: skip
    return (*made, Hook(owner=noise.NoisySums, name="__init__", distance=sums_apart, opens=True), sums)


def reports() -> tuple[Hook, ...]:
    """Every protocol of the local model that there is, also of the program's own."""
    kinds = set(_protocols(importlib.import_module("discreet.local").LocalProtocol))
    return tuple(_report(kind) for kind in sorted(kinds, key=lambda one: f"{one.__module__}.{one.__qualname__}"))


@functools.cache
def _report(kind: type) -> Hook:
    return Hook(
        owner=kind, name="draw", distance=users_apart, together="sum", fed=_copied, coins="random",
        public=lambda protocol: protocol.fingerprint(), event=lambda protocol: PureEvent(epsilon=protocol.epsilon),
    )  # fmt: skip


def elsewhere() -> tuple[Hook, ...]:
    """All of them."""
    return (*learners(), *reports())
