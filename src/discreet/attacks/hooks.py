"""Where this library releases what is private, and how far apart two inputs of each mechanism may be.

Every distance is a part of what the mechanism declares: at most 1 between neighbours, if the program around it is
right.  They are the hypotheses of the mechanisms' own theorems, and the only thing that `replay` takes from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.attacks.replay import Hook
from discreet.mechanisms.admissible_noise import AdmissibleNoise
from discreet.mechanisms.bounded_laplace import BoundedLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.partition_selection import PartitionSelection
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.smooth_sensitivity import SmoothSensitivity
from discreet.mechanisms.sparse_vector import Session, SparseVector
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.thresholded import Thresholded
from discreet.mechanisms.truncated_laplace import TruncatedLaplace
from discreet.privacy.event import ApproxEvent, Event, PureEvent
from discreet.privacy.guarantee import ApproxDP
from discreet.privacy.number import exact
from discreet.queries.workload import swaps
from discreet.release.online_session import Gate
from discreet.structured.graphs.ladder import Ladder
from discreet.structured.graphs.noisy_local import NoisyLocal, SensitivityBound
from discreet.structured.marginals.marginal_release import MarginalRelease
from discreet.structured.quantiles.quantile_bound import QuantileBound
from discreet.structured.quantiles.quantile_grid import GridQuantile
from discreet.structured.quantiles.quantile_many import ManyQuantiles

if TYPE_CHECKING:
    from discreet.structured.quantiles.rank_index import CountIndex, RankIndex

RUNGS = 200  # of a ladder, compared one by one


def moves(one: Any, two: Any) -> list[int]:  # noqa: ANN401 - an integer or an array of them
    """By how much entries changed, those that did.

    >>> moves([1, 2, 3], [1, 5, 2]), moves(7, 7)
    ([3, -1], [])
    """
    import numpy as np

    a, b = (np.ravel(np.asarray(side)) for side in (one, two))
    where = np.flatnonzero(a != b)
    return [int(y) - int(x) for x, y in zip(a[where].tolist(), b[where].tolist(), strict=True)]


def absolute(mechanism: Any, one: object, two: object) -> float:  # noqa: ANN401 - one with a sensitivity
    """The l1 distance over the sensitivity: of Laplace noise in all its forms."""
    return sum(map(abs, moves(one, two))) / mechanism.sensitivity


def euclidean(gaussian: Gaussian, one: object, two: object) -> float:
    """The l2 distance over the sensitivity."""
    return math.sqrt(sum(move * move for move in moves(one, two)) / gaussian.square)


def largest(mechanism: Any, one: object, two: object) -> float:  # noqa: ANN401 - a selection
    """The largest change of a score over the sensitivity; infinite if monotone ones move both ways."""
    found = moves(one, two)
    if mechanism.monotone and min(found, default=0) < 0 < max(found, default=0):
        return math.inf
    return max(map(abs, found), default=0) / mechanism.sensitivity


def entries(mechanism: Any, one: object, two: object) -> float:  # noqa: ANN401 - one with a sensitivity
    """The largest change of an entry over the sensitivity, where every entry is a release of its own."""
    return float(max(map(abs, moves(one, two)), default=0) / exact(mechanism.sensitivity))


def answers(_response: object, one: object, two: object) -> float:
    """How many people answer something else: one may."""
    return float(len(moves(one, two)))


def units(selection: PartitionSelection, one: object, two: object) -> float:
    """Keys that gained or lost a unit over those that one unit may hold; infinite if a key lost two."""
    found = moves(one, two)
    return math.inf if any(abs(move) > 1 for move in found) else len(found) / selection.groups_per_unit


def keys(thresholded: Thresholded, one: object, two: object) -> float:
    """Keys whose count changed over those that may, or the largest change over the one allowed."""
    found = moves(one, two)
    return max(len(found) / thresholded.groups_per_unit, max(map(abs, found), default=0) / thresholded.change)


def rows(quantile: Any, one: object, two: object) -> float:  # noqa: ANN401 - a quantile of counts
    """Rows that came or went, over those of one unit."""
    return sum(map(abs, moves(one, two))) / quantile.rows_per_unit


def points(many: ManyQuantiles, one: dict[int, int], two: dict[int, int]) -> float:
    """The same, for rows given as lattice points with counts."""
    changed = sum(abs(one.get(code, 0) - two.get(code, 0)) for code in {*one, *two})
    return changed / many.rows_per_unit


def lattice_points(_many: object, index: RankIndex | CountIndex) -> dict[int, int]:
    """What a quantile is drawn from."""
    if not index.rows:
        return {}
    found = index.points(0, index.rows)
    return dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True))


def smooth(noise: AdmissibleNoise, one: tuple[Any, Any], two: tuple[Any, Any]) -> float:
    """Value and S of both: the values at most S apart on either side, and the S at most a factor e^smoothness."""
    (q, s), (other, r) = ((exact(value), exact(bound)) for value, bound in (one, two))
    if min(s, r) == 0:
        return 0.0 if s == r and q == other else math.inf
    dilation = float(exact(noise.smoothness)) + 2.0**-30  # S may be a 2^-32 part too large
    return max(float(abs(q - other) / min(s, r)), abs(math.log(s / r)) / dilation)


def proposed(name: tuple[str, int], one: tuple[int, float], two: tuple[int, float]) -> float:
    """Answer and distance of both: the distances one step apart, and the answers `bound` apart, or both at 0."""
    (q, d), (other, e) = one, two
    steps = 0.0 if d == e else abs(d - e)
    bound = name[1]
    apart = 0.0 if d == e == 0 or q == other else (abs(q - other) / bound if bound else math.inf)
    return max(steps, apart)


def rungs(_ladder: object, one: tuple[int, tuple[int, ...]], two: tuple[int, tuple[int, ...]]) -> float:
    """Value and ladder of both: the values I_0 apart on either side, and I_t at most the other's I_(t + 1)."""
    (q, up), (other, down) = one, two
    crossed = any(a > b for x, y in ((up, down), (down, up)) for a, b in zip(x, y[1:], strict=False))
    moved, allowed = abs(q - other), min(up[0], down[0])
    return math.inf if crossed or (moved and not allowed) else moved / allowed if moved else 0.0


def local(_noisy: object, one: tuple[int, int, int], two: tuple[int, int, int]) -> float:
    """Value, local sensitivity and its public bound: values apart by no more than either, sensitivities by one."""
    (q, s, most), (other, r, same) = one, two
    moved, allowed = abs(q - other), min(s, r)
    apart = 0.0 if not moved else moved / allowed if allowed else math.inf
    return math.inf if most != same else max(apart, float(abs(s - r)))


def beyond(_gate: object, one: tuple[Any, Any], two: tuple[Any, Any]) -> float:
    """Differences from the public histogram over the spans of their queries, which are public."""
    import numpy as np

    spans = [np.ravel(np.asarray(side[1])) for side in (one, two)]
    if not np.array_equal(spans[0], spans[1]):
        return math.inf
    return float(np.max(np.abs(np.ravel(one[0]) - np.ravel(two[0])) / spans[0], initial=0.0))


@dataclass(frozen=True, slots=True)
class Labelled:
    """A mechanism that is not compared by its parameters, beside what it prints."""

    label: str
    mechanism: Any = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.label


def residuals(labelled: Labelled, one: tuple[Any, ...], two: tuple[Any, ...]) -> float:
    """Coordinates of residuals times their multipliers, in l2: what the Gaussian noise is added to."""
    import numpy as np

    (values, numbers, shape), (others, *same) = one, two
    release = labelled.mechanism
    noise = release._unit[1]
    if noise is None or (not shape and swaps(release.neighbours)):
        return 0.0  # a public number of rows is released as it was given
    if not np.array_equal(numbers, same[0]) or shape != same[1]:
        return math.inf
    steps = release.multipliers(numbers, shape) * (others - values)
    return math.sqrt(sum(int(move) ** 2 for move in np.ravel(steps).tolist()) / noise.square)


def _admissible(noise: AdmissibleNoise) -> Event:
    claim = noise.privacy()
    if isinstance(claim, ApproxDP):
        return ApproxEvent(epsilon=claim.epsilon, delta=claim.delta)
    return PureEvent(epsilon=claim.epsilon)


def _passed(gate: Gate, released: object) -> None:
    if released is not None:
        gate._passed()


def _answered(session: Session, released: object) -> None:
    session._left -= released is not None


def _answered_many(session: Session, released: Any) -> None:  # noqa: ANN401 - an array
    session._left -= int((released >= 0).sum())


def _ladder(_ladder: object, value: int, steps: Any, _count: int = 1, *, most: int) -> tuple[int, tuple[int, ...]]:  # noqa: ANN401
    return value, tuple(min(steps(t), most) for t in range(RUNGS))


def _copies(_self: object, _value: object, count: int, **_more: object) -> int:
    """How many releases a call of `releases` is."""
    return count


def _shaped(_noise: object, *_args: object, shape: Any = None, **_more: object) -> int:  # noqa: ANN401 - of an array
    return 1 if shape is None else math.prod(shape)


def proposal(one: ProposeTestRelease, x: object, _count: int = 1) -> tuple[Any, Any]:
    """Answer and distance."""
    return one.query(x), one.distance(x)


SESSION: dict[str, Any] = {  # all answers of a session are paid for once, and every session by itself
    "owner": Session, "distance": largest, "public": lambda session: session.mechanism, "event": None,
    "shared": lambda session: session.mechanism.event(),
}  # fmt: skip
GATE: dict[str, Any] = {
    "owner": Gate, "distance": beyond, "public": lambda gate: gate.settings, "event": None, "after": _passed,
    "shared": lambda gate: gate.settings.event(),
}  # fmt: skip
ADDED = (Laplace, Staircase, TruncatedLaplace, BoundedLaplace)
SELECTED = (Exponential, PermuteAndFlip, NoisyMax, SparseVector)


HOOKS: tuple[Hook, ...] = (
    *(Hook(owner=kind, distance=absolute, together="sum") for kind in ADDED),
    *(
        Hook(owner=kind, name="releases", distance=absolute, times=_copies, together="sum")
        for kind in (Staircase, BoundedLaplace)
    ),
    Hook(owner=Gaussian, distance=euclidean, together="squares"),
    Hook(owner=Gaussian, name="releases", distance=euclidean, times=_copies, together="squares"),
    *(Hook(owner=kind, distance=largest) for kind in SELECTED),
    *(Hook(owner=kind, name="releases", distance=largest, times=_copies) for kind in SELECTED),
    Hook(owner=SparseVector, name="margins", distance=largest),
    Hook(owner=Session, name="__init__", distance=largest, opens=True),
    Hook(**SESSION, name="margin", after=_answered),
    Hook(**SESSION, name="margins", after=_answered_many),
    Hook(owner=RandomizedResponse, distance=answers, together="sum"),
    Hook(owner=PartitionSelection, distance=units),
    Hook(owner=Thresholded, distance=keys),
    Hook(
        owner=SmoothSensitivity, public=lambda one: one.noise_law, distance=smooth,
        fed=lambda one, x: (one.query(x), one.smooth(x, exact(one.noise_law.smoothness))),
    ),
    Hook(
        owner=AdmissibleNoise, name="release", distance=smooth, event=_admissible, times=_shaped,
        fed=lambda _noise, value, sensitivity, **_: (value, sensitivity),
    ),
    Hook(
        owner=ProposeTestRelease, public=lambda one: (repr(one), one.bound), distance=proposed, fed=proposal,
    ),
    Hook(
        owner=ProposeTestRelease, name="releases", public=lambda one: (repr(one), one.bound), distance=proposed,
        fed=proposal, times=_copies,
    ),
    *(Hook(owner=kind, distance=rows, together="sum") for kind in (GridQuantile, QuantileBound)),
    Hook(owner=GridQuantile, name="releases", distance=rows, times=_copies, together="sum"),
    Hook(owner=ManyQuantiles, name="find", fed=lattice_points, distance=points, together="sum"),
    Hook(owner=Ladder, fed=_ladder, distance=rungs),
    Hook(
        owner=Ladder, name="releases", fed=_ladder, distance=rungs,
        times=lambda _ladder, _value, _steps, count, **_: count,
    ),
    Hook(owner=NoisyLocal, fed=lambda _self, value, *, local, most: (value, local, most), distance=local),
    Hook(
        owner=SensitivityBound, fed=lambda _self, value, *, most: (0, value, most), distance=local,
    ),
    Hook(owner=Gate, name="__init__", distance=beyond, opens=True),
    Hook(**GATE, name="test", fed=lambda _gate, difference, span: (difference, span)),
    Hook(**GATE, name="first", fed=lambda _gate, differences, spans: (differences, spans)),
    Hook(
        owner=MarginalRelease, name="noisy", distance=residuals, event=None, together="squares",
        shared=lambda release: release.event(),
        fed=lambda _self, values, numbers, shape: (values, numbers, shape),
        public=lambda release: Labelled(f"{release!r} of {release.workload.sets}", release),
    ),
)  # fmt: skip

# For programs that pay for every entry of an array with noise, as the oracle of statistical queries does.
ENTRY_BY_ENTRY: tuple[Hook, ...] = (
    *(hook for hook in HOOKS if hook.owner not in (Laplace, Gaussian)),
    *(Hook(owner=kind, distance=entries, times=lambda _noise, cells: len(cells)) for kind in (Laplace, Gaussian)),
)
