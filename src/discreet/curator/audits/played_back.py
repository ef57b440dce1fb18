"""Record and replay over the cases of a subject: what moved, and whether it was paid for.

The price of a run is the sum over its calls that were fed something else.  A call that was fed k times what its
mechanism declares is paid for as by a group of k.  Calls that share one declaration, those of one session or of one
object, are paid for once, by what the object itself says ran, and moved as far as all of them together.  A run whose
calls have no price here is not compared with its claim, and is not called replayed; one that releases nothing over the
tape is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.attacks.exact import MARGIN
from discreet.attacks.replay import ROUNDING, Replay, replay
from discreet.composition.price import FREE, Price, price
from discreet.curator.audits.case import Case, Subject
from discreet.hazmat.entropy import SeededRandom


def replayed(subject: Subject, cases: Sequence[Case]) -> tuple[float | None, tuple[str, ...]]:
    """How far what the mechanisms inside were fed moved, and what of that or of the price is more than was said.

    Nothing in place of the first where a run has no price to compare.
    """
    if not subject.replays:
        return None, ()
    most, priced, wrong = 0.0, True, []
    for case in cases:

        def run(value: object, case: Case = case) -> object:
            return case.mechanism(value, rng=SeededRandom(1))  # coins of its own are the same in both runs

        found = replay(run, case.inputs, group=subject.replays)
        part, cost = max([*found.parts, *_shared(found).values()], default=0.0), paid(found)
        most, priced = max(most, part / subject.replays), priced and cost is not None
        wrong += found.violations
        declared = price(case.mechanism.privacy())
        if cost is not None and not within(cost, declared):
            wrong.append(f"what ran costs {_said(cost)}, and {_said(declared)} is claimed")
    return most if priced else None, tuple(wrong)


def paid(found: Replay) -> Price | None:
    """What a run costs between its two datasets; None where a call has no price.

    >>> from discreet.mechanisms import Laplace
    >>> paid(replay(Laplace(epsilon=1, sensitivity=1), (0, 2), group=2)).epsilon
    Fraction(2, 1)
    """
    steps = zip(found.steps, found.parts, strict=False)
    costs = [_group(step.price, part) for step, part in steps if step.of is None]
    wholes = {step.of: step.whole for step in found.steps}
    costs += [_group(wholes[of], part) for of, part in _shared(found).items()]
    known = [cost for cost in costs if cost is not None]
    return sum(known, FREE) if len(known) == len(costs) else None


def within(ran: Price, declared: Price) -> bool:
    """Whether what ran costs no more than what was declared, but for the rounding of sensitivities."""
    slack = 1 + MARGIN
    dear = declared.epsilon is not None and (ran.epsilon is None or ran.epsilon > declared.epsilon * slack)
    return not dear and ran.rho <= declared.rho * slack and ran.delta <= declared.delta * slack


def _shared(found: Replay) -> dict[int, float]:
    """How far all calls of one object moved together, where they share one declaration, which is what is paid for."""
    joint = found.joint()
    return {step.of: joint[step.mechanism, step.of] for step in found.steps if step.of is not None}


def _said(cost: Price) -> str:
    epsilon = "no epsilon" if cost.epsilon is None else f"epsilon {float(cost.epsilon):.6g}"
    return f"{epsilon}, rho {float(cost.rho):.6g}, delta {float(cost.delta):.6g}"


def _group(cost: Price | None, part: float) -> Price | None:
    """Paid for as by a group of as many as it moved; nothing where nothing did, and unknown beside a delta."""
    if part == 0 or cost is None or math.isinf(part):  # infinite: a violation already
        return FREE if part == 0 else cost
    k = max(1, math.ceil(part / (1 + ROUNDING)))
    if k > 1 and cost.delta > 0:
        return None
    return Price(None if cost.epsilon is None else k * cost.epsilon, k * k * cost.rho, cost.delta)
