"""The best factorization of a workload, with a proof of how good it is.

Let s_i be the queries, in R^k, and let t_j be what neighbours may move.  A strategy A costs noise of max_j |A t_j|,
and answers query i with the variance s_i^T (A^T A)^-1 s_i.  Write X = A^T A.

Theorem (Linial, Mendelson, Schechtman, Shraibman 2007; Lee, Shraibman, Spalek 2008).
For probability vectors p, q let G = sum p_i s_i s_i^T and D = sum q_j t_j t_j^T = C C^T.  Then for every X

    tr (C^T G C)^(1/2)  <=  sqrt(max_i s_i^T X^-1 s_i) sqrt(max_j t_j^T X t_j),

and some p, q, X attain equality: it is gamma_2.  With p held uniform the left side bounds the root mean square error
instead of the largest, and is attained too.  The X with X D X = G, C^-T (C^T G C)^(1/2) C^-1, is the best
answer to p, q, and p_i <- p_i r_i, q_j <- q_j c_j, with r_i = s_i^T X^-1 s_i and c_j = t_j^T X t_j, raises the
left side.  The steps are taken longer (the power 1.5) and with momentum.  Proof: docs/theory/gamma2.md.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.release.gamma2_certificate import trace_of_root
from discreet.release.gamma2_sets import UNIT, Cells, Vectors
from discreet.threads import threads_by

if TYPE_CHECKING:
    from discreet.release.gamma2_sets import Reals

Objective = Literal["max", "total"]
POWER = {"max": 1.5, "total": 2.0}  # of the step; from 2 and from 4 on it no longer contracts on a diagonal workload
LEAST = 1e-9  # of the mean weight: what no longer counts stays positive
FLOOR = 1e-7  # of the largest singular value: directions that no query has are measured so much


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Solution:
    """A strategy A (k x k) whose columns move by at most 1, its value, and a bound that no strategy beats."""

    strategy: Reals
    value: float
    lower_bound: float
    iterations: int


@threads_by(lambda rows, columns, **_named: max(rows.dimension, columns.dimension) ** 2)
def solve(
    rows: Vectors,
    columns: Vectors,
    *,
    objective: Objective = "max",
    tolerance: float = 1e-4,
    iterations: int = 100,
    time_limit: float | None = None,
) -> Solution:
    """Iterate until value <= (1 + tolerance) lower_bound, or for so many iterations or seconds."""
    state = _State(rows, columns, objective)
    began = time.monotonic()
    shipped = proof = step = _Step(state)
    count = 1
    while True:
        if step.upper < shipped.upper:
            shipped = step
        if step.lower > proof.lower:
            proof = step
        late = time_limit is not None and time.monotonic() - began > time_limit
        if late or count == iterations or shipped.upper <= proof.lower * (1 + tolerance):
            break
        state.move(step)
        step, count = _Step(state), count + 1
    return Solution(strategy=shipped.strategy(), value=shipped.upper, lower_bound=proof.certified(), iterations=count)


class _State:
    """The logarithms of the weights, with momentum that is dropped where the lower bound falls."""

    def __init__(self, rows: Vectors, columns: Vectors, objective: Objective) -> None:
        import numpy as np

        self.rows, self.columns, self.objective = rows, columns, objective
        self.at = np.zeros(rows.size + columns.size)
        self._before: Reals | None = None
        self._run, self._last = 0, 0.0

    @property
    def weights(self) -> tuple[Reals, Reals]:
        """p and q."""
        return _normal(self.at[: self.rows.size]), _normal(self.at[self.rows.size :])

    def move(self, step: _Step) -> None:
        """A multiplicative step, and some more of the last one."""
        import numpy as np

        power = POWER[self.objective]
        change = np.empty_like(self.at)
        change[: self.rows.size] = power * _log(step.rows_norms) if self.objective == "max" else 0.0
        change[self.rows.size :] = power * _log(step.columns_norms)
        p, q = step.weights
        here = np.concatenate([np.log(p), np.log(q)]) + change
        self._run = 1 if step.lower < self._last else self._run + 1
        self._last = step.lower
        more = (self._run - 1) / (self._run + 2)
        self.at = here if self._before is None else here + more * (here - self._before)
        self._before = here


class _Step:
    """The best X for some weights: its norms, the lower bound and the upper bound."""

    def __init__(self, state: _State) -> None:
        import numpy as np

        self._objective, self._columns = state.objective, state.columns
        self._rows = state.rows
        self.weights = p, q = state.weights
        self._gram = state.rows.gram(p)
        self._diagonal = isinstance(state.columns, Cells)
        self._factor = np.sqrt(q) if self._diagonal else _root(state.columns.gram(q))
        self._matrix = self._between(self._gram)
        self._values, self._vectors = np.linalg.eigh(self._matrix)
        self._roots = np.sqrt(np.maximum(self._values, (FLOOR**2) * self._values[-1]))
        self.lower = float(self._roots.sum())
        inverse = self._outer(self._vectors / np.sqrt(self._roots))
        self._inverse = inverse @ inverse.T  # X^-1
        self.rows_norms = state.rows.norms(self._inverse)
        if self._diagonal:
            self.columns_norms = np.einsum("ij,ij->i", self._vectors * self._roots, self._vectors) / q
        else:
            half = self._half()
            self.columns_norms = state.columns.norms(half.T @ half)
        self.upper, self._even = self._bounds()

    def _between(self, gram: Reals) -> Reals:
        """C^T G C, symmetric to the last bit."""
        if self._diagonal:
            return gram * self._factor * self._factor[:, None]
        made = self._factor.T @ gram @ self._factor
        return (made + made.T) / 2

    def _outer(self, vectors: Reals) -> Reals:
        return vectors * self._factor[:, None] if self._diagonal else self._factor @ vectors

    def _half(self) -> Reals:
        """A with A^T A = X."""
        import numpy as np

        half = np.sqrt(self._roots)[:, None] * self._vectors.T
        if self._diagonal:
            return half / self._factor
        from scipy.linalg import solve_triangular

        return solve_triangular(self._factor, half.T, lower=True, trans=1).T

    def _bounds(self) -> tuple[float, bool]:
        """The value of X, or of X with its diagonal made even where neighbours are single cells."""
        import numpy as np

        largest = float(self.columns_norms.max())
        cost = float(self.rows_norms.max() if self._objective == "max" else self.rows_norms @ self.weights[0])
        plain = math.sqrt(max(0.0, cost * largest))
        if not self._diagonal:
            return plain, False
        scale = np.sqrt(self.columns_norms)
        form = self._inverse * scale * scale[:, None]
        cost = float(self._rows.norms(form).max() if self._objective == "max" else (self._gram * form).sum())
        even = math.sqrt(max(0.0, cost))
        return (even, True) if even <= plain else (plain, False)

    def strategy(self) -> Reals:
        """A, scaled so that no neighbour moves it by more than 1."""
        import numpy as np

        half = self._half()
        return half / np.sqrt(self.columns_norms) if self._even else half / math.sqrt(float(self.columns_norms.max()))

    def certified(self) -> float:
        """The lower bound, with every rounding error on the other side."""
        import numpy as np

        p, q = self.weights
        factor = np.diag(self._factor) if self._diagonal else self._factor
        wide = float(np.abs(factor).sum(axis=0).max() * np.abs(factor).sum(axis=1).max())  # >= the norm of C, squared
        size = len(factor)
        sums = 2 * (size + 8) * UNIT
        error = wide * (self._rows.drift(self._gram) + sums * float(np.linalg.norm(self._gram)))
        bound = trace_of_root(self._matrix, self._values, self._vectors, error=error)
        if self._diagonal:
            q = self._factor**2  # the weights that were used, exactly but for a rounding
        else:
            bound *= math.sqrt(max(0.0, 1 - self._lost(factor, sums)))
        return bound / math.sqrt(math.fsum(p.tolist()) * math.fsum(q.tolist())) * (1 - 16 * UNIT)

    def _lost(self, factor: Reals, sums: float) -> float:
        """A number c with D >= (1 - c) C C^T: the error of C C^T over its least eigenvalue."""
        import numpy as np
        from scipy.linalg import solve_triangular

        gram = self._columns.gram(self.weights[1])
        wrong = float(np.linalg.norm(gram - factor @ factor.T)) + sums * float(np.linalg.norm(factor)) ** 2
        one = np.eye(len(factor))
        inverse = solve_triangular(factor, one, lower=True)
        length = float(np.linalg.norm(inverse))
        off = float(np.linalg.norm(factor @ inverse - one)) + sums * float(np.linalg.norm(factor)) * length
        if off >= 0.5:  # nothing is known of the inverse
            return 1.0
        return (wrong + self._columns.drift(gram)) * (length / (1 - off)) ** 2 * (1 + 1e-6)


def _root(gram: Reals) -> Reals:
    """A Cholesky factor, of a slightly larger matrix where rounding has made this one indefinite."""
    import numpy as np

    try:
        return np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return np.linalg.cholesky(gram + 1e-12 * gram.trace() * np.eye(len(gram)))


def _normal(logarithms: Reals) -> Reals:
    """Positive weights that sum to 1."""
    import numpy as np

    weights = np.exp(logarithms - logarithms.max())
    weights /= weights.sum()
    weights = np.maximum(weights, LEAST / len(weights))
    return weights / weights.sum()


def _log(norms: Reals) -> Reals:
    """Logarithms; what is zero counts as little."""
    import numpy as np

    return np.log(np.maximum(norms, 1e-3 * max(float(norms.mean()), 1e-300)))
