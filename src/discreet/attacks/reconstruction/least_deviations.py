"""The linear programme of the attack: the fractional bits whose answers are nearest to those given, in l1.

    min ||Q x - y||_1   over   0 <= x <= 1

Alternating directions (Boyd et al. 2011) with one factorization: x solves (Q'Q + t I) x = Q'(y + z - u) + t (v - w),
z is Q x - y + u shrunk by 1 / rho, v is x + w cut to [0, 1].  A step costs two products with Q.

Certificate.  For every l in [-1, 1]^k,  -<l, y> + sum over j of min(0, (Q'l)_j)  is at most the optimum, because
<l, r> <= ||r||_1.  The multipliers rho u give such an l, and the solver stops when the bound and the value of v are
within `gap` of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.threads import threads_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

STEPS = 2000
CHECK = 10  # steps between two looks at the gap
RELAX = 1.6  # over-relaxation


@dataclass(frozen=True, slots=True, eq=False)
class Deviations:
    """Fractional bits, their l1 error, and a bound below which no others can be."""

    bits: Floats
    value: float
    bound: float
    steps: int


@threads_by(lambda queries, *_, **_named: max(queries.size, queries.shape[1] ** 2))
def least_deviations(queries: npt.NDArray[np.uint8], answers: Floats, *, gap: float = 1e-3) -> Deviations:
    """Solve to a relative gap, or until `STEPS` steps are made.

    >>> import numpy as np
    >>> from discreet.attacks.reconstruction.subsets import random_subsets
    >>> asked, secret = random_subsets(20, 80, seed=1), np.arange(20) % 3 == 0
    >>> found = least_deviations(asked, asked @ secret.astype(float))
    >>> (found.bits.round() == secret).all(), found.value < 1e-6
    (np.True_, True)
    """
    import numpy as np
    from scipy.linalg import cho_factor, cho_solve

    require(gap > 0, "gap > 0", gap=gap)
    q, y = np.asarray(queries, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    weight = len(y) / 8  # of the box against the answers: about the smaller eigenvalues of Q'Q
    factor = cho_factor(q.T @ q + weight * np.eye(q.shape[1]), overwrite_a=True)
    x = np.clip(cho_solve(factor, q.T @ y + weight / 2), 0, 1)
    rho = 0.5 / max(float(np.median(np.abs(q @ x - y))), 1e-3)
    z, u = np.zeros_like(y), np.zeros_like(y)
    v, w = x.copy(), np.zeros_like(x)
    best, value, bound, step = v, float("inf"), 0.0, 0
    for step in range(1, STEPS + 1):
        x = cho_solve(factor, q.T @ (y + z - u) + weight * (v - w), check_finite=False)
        moved = RELAX * (q @ x - y) + (1 - RELAX) * z + u
        z = np.sign(moved) * np.maximum(np.abs(moved) - 1 / rho, 0)
        u = moved - z
        inside = RELAX * x + (1 - RELAX) * v + w
        v = np.clip(inside, 0, 1)
        w = inside - v
        if step % CHECK == 0:
            now = float(np.abs(q @ v - y).sum())
            if now < value:
                best, value = v.copy(), now
            dual = np.clip(rho * u, -1, 1)
            bound = max(bound, float(-dual @ y + np.minimum(q.T @ dual, 0).sum()))
            if value - bound <= gap * max(value, 1e-6 * len(y)):
                break
    return Deviations(best, value, bound, step)
