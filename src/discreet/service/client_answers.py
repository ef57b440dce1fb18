"""Answers and explanations built again from what a service sent: nothing in a reply is taken for granted.

The plan is made here, from the public declaration.  The released integers must have its shape, the price must be its
price, and the rows that are shown must be those that the integers give.  A reply of which one part was changed on its
way is refused.  (Integers that a dishonest service made up cannot be told from noise: the curator is trusted.)
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.curator.answer import Answer, from_bytes
from discreet.curator.plan import Plan
from discreet.errors import ServiceError
from discreet.service.client_wire import receipt, same_version
from discreet.service.running.work import plain

if TYPE_CHECKING:
    from discreet.composition.price import Price
    from discreet.curator.explain import Explanation

CLOSE = 1e-9  # how far two machines may differ in the last digits of an interval, relatively


def answer_of(step: Plan, told: Mapping[str, object], *, beta: float, whole_counts: bool) -> Answer:
    """The answer that a reply holds, checked against the plan."""
    same_version(told.get("version"))
    released = told.get("released")
    if not _fits(step, released):
        raise differs("the released numbers do not have the shape of the plan")
    if not _same_price(told.get("price"), step.price) or told.get("cost") != str(step.budget):
        raise differs("the price is not that of the plan")
    stored, paid = json.dumps(released).encode(), receipt(told.get("receipt"), step.price)
    answer = from_bytes(step, stored, paid, beta=beta, whole_counts=whole_counts)
    if told.get("statement") != answer.statement or told.get("beta") != beta:
        raise differs("the statement is not that of the plan")
    if not close(told.get("rows"), plain(answer.errors().to_pylist())):
        raise differs("the rows are not those of the released numbers")
    return answer


def agreed(found: Explanation, told: Mapping[str, object]) -> Explanation:
    """The explanation made here, if the service would charge the same for the same.

    What the service doubts of its cap, which is not known here, is added as it says it.
    """
    if told.get("question") != str(found.plan.query) or not _same_price(told.get("price"), found.plan.price):
        raise differs("the service explains another price than the declaration gives", charged=False)
    said = told.get("doubts")
    more = [one for one in said if isinstance(one, str) and one not in found.doubts] if isinstance(said, list) else []
    return replace(found, doubts=(*found.doubts, *more))


def differs(what: str, *, charged: bool | None = True) -> ServiceError:
    """What is raised where a reply contradicts itself or the declaration."""
    return ServiceError(f"{what}: the reply was changed, or made by another version", kind="mismatch", charged=charged)


def close(told: object, made: object) -> bool:
    """Whether two JSON values are the same, numbers up to their last digits.

    >>> close([{"n": 1.0, "ward": "a"}], [{"n": 1, "ward": "a"}]), close([1], [2]), close([True], [1])
    (True, False, False)
    """
    match told, made:
        case (bool(), _) | (_, bool()):
            return told is made
        case ((int() | float()), (int() | float())):
            both_missing = told != told and made != made
            return both_missing or told == made or math.isclose(told, made, rel_tol=CLOSE, abs_tol=CLOSE)
        case list(), list():
            return len(told) == len(made) and all(map(close, told, made))
        case dict(), dict():
            return told.keys() == made.keys() and all(close(told[name], made[name]) for name in made)
        case _:
            return told == made


def _same_price(told: object, price: Price) -> bool:
    epsilon = None if price.epsilon is None else float(price.epsilon)
    return close(told, {"epsilon": epsilon, "rho": float(price.rho), "delta": float(price.delta)})


def _fits(step: Plan, released: object) -> bool:
    """Whether released numbers are integers in as many lists, each as long, as the plan says."""
    match released:
        case {"version": 1, "noisy": list(noisy), "groups": list() | None as groups}:
            pass
        case _:
            return False
    if (groups is None) != (step.selection is None) or len(noisy) != len(step.releases):
        return False
    if groups is not None and not all(_group(one, step.cells) for one in groups):
        return False
    cells = step.cells if groups is None else len(groups)
    return all(isinstance(part, list) and len(part) == cells and all(type(v) is int for v in part) for part in noisy)


def _group(group: object, cells: int) -> bool:
    """Names of undeclared keys, then the number of the declared ones."""
    if not isinstance(group, list) or not group:
        return False
    *names, number = group
    return type(number) is int and 0 <= number < cells and all(name is None or isinstance(name, str) for name in names)
