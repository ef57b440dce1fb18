"""Strategies for Laplace noise, which pays the l1 norm of a column.

    trees       nodes of a tree over ordered positions, with branching 2, 4, 8 and 16
    overlay     the cells, and a few weighted sums of cells above them, optimised (McKenna, Miklau, Hay,
                Machanavajjhala 2018): A = [I; T] D with T >= 0 and D making every column sum to 1

No optimum is known for the l1 norm; the candidates are compared by their exact cost, so that the best of them, the
cells and the binary tree is taken.

Lemma.  Let M = I + T^T T, S = (I + T T^T)^-1 and d = 1 + the column sums of T.  The total variance for a Gram matrix G
is f(T) = sum over j, l of d_j d_l G_jl (M^-1)_jl with M^-1 = I - T^T S T, and for G' = (d_j d_l G_jl)

    df / dT_kj = 2 sum over l of d_l G_jl (M^-1)_jl - 2 (S T G' M^-1)_kj.

Proof: docs/theory/factorization.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.queries.ordered import Ranges, Thresholds
from discreet.queries.workload import Workload
from discreet.release.factorization_space import CellSpace, Space
from discreet.release.gamma2 import FINE, rows_of
from discreet.release.gamma2_solver import Objective
from discreet.release.strategies import Strategy, tree
from discreet.threads import threads_by

if TYPE_CHECKING:
    from discreet.release.gamma2_sets import Reals

BRANCHING = (4, 8, 16)
ROUNDS = 2  # of reweighting the queries, where the largest error counts and the cells are few
STEPS = 150  # of the optimiser


def pure_strategies(space: Space, workload: Workload, *, objective: Objective) -> Iterator[Strategy]:
    """Candidates beside the cells and the binary tree."""
    import numpy as np

    if not isinstance(space, CellSpace):
        return
    if isinstance(workload, Thresholds | Ranges):
        for branching in BRANCHING:
            if branching < workload.domain.size:
                yield Strategy.over_cells(
                    f"tree of {branching}", tree(workload.domain.size, branching=branching), space
                )
    rows = rows_of(workload, known_total=False)
    weights = np.full(rows.size, 1 / rows.size)
    found = None if not isinstance(workload, Thresholds | Ranges) else blocks(workload.domain.size)
    for _ in range(ROUNDS if objective == "max" and rows.dimension <= FINE else 1):
        found = overlay(rows.gram(weights), start=found)
        strategy = Strategy.over_cells("overlay", _matrix(found), space)
        yield strategy
        weights = weights * np.maximum(strategy.variances / strategy.variances.max(), 1e-3) ** 2
        weights /= weights.sum()


@threads_by(lambda gram, **_named: gram.size)
def overlay(gram: Reals, *, start: Reals | None = None) -> Reals:
    """T with a small f(T), by a quasi-Newton search from a fixed start.

    >>> import numpy as np
    >>> from discreet.release.gamma2_sets import Prefixes
    >>> gram = Prefixes(64).gram(np.full(64, 1 / 64))
    >>> round(_total(overlay(gram), gram)[0], 1), float(np.trace(gram))  # against that of the cells alone
    (14.2, 32.5)
    """
    import numpy as np
    from scipy.optimize import minimize

    cells = len(gram)
    if start is None:
        start = np.random.default_rng(0).uniform(size=(_above(cells), cells))
    above = len(start)

    def goal(flat: Reals) -> tuple[float, Reals]:
        value, slope = _total(flat.reshape(above, cells), gram)
        return value, slope.ravel()

    found = minimize(
        goal,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (above * cells),
        options={"maxiter": STEPS},
    )
    return found.x.reshape(above, cells)


def blocks(cells: int) -> Reals:
    """A start for ordered cells: halves of blocks of three widths, not quite equal, so that all may move apart.

    >>> blocks(64).shape
    (4, 64)
    """
    import numpy as np

    above, place = _above(cells), np.arange(cells)
    widest, wide = max(1, above // 16), above * 3 // 16
    rows = [place * count // cells == np.arange(count)[:, None] for count in (above - wide - widest, wide, widest)]
    return 0.5 * np.vstack(rows) + np.random.default_rng(0).uniform(0, 0.02, size=(above, cells))


def _above(cells: int) -> int:
    """The number of sums above the cells."""
    return max(1, min(64, cells // 16))


def _matrix(above: Reals) -> Reals:
    """[I; T] D."""
    import numpy as np

    return np.vstack([np.eye(above.shape[1]), above]) / (1 + above.sum(axis=0))


def _total(above: Reals, gram: Reals) -> tuple[float, Reals]:
    """f(T) and its slope."""
    import numpy as np

    weight = 1 + above.sum(axis=0)
    folded = np.linalg.solve(np.eye(len(above)) + above @ above.T, above)  # S T
    inverse = np.eye(len(gram)) - above.T @ folded
    scaled = gram * weight * weight[:, None]
    terms = scaled * inverse
    half = folded @ scaled
    slope = terms.sum(axis=1) / weight - (half - (half @ above.T) @ folded)
    return float(terms.sum()), 2 * slope
