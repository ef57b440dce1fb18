"""From answers to subset questions back to the bits behind them.

Theorem (Dinur, Nissim 2003; Dwork, McSherry, Talwar 2007; Dwork, Yekhanin 2008).  Let every answer to <q, x>, for x in
{0, 1}^n, be off by less than E.

    exhaustive   all 2^n subsets asked: every consistent x' differs from x in fewer than 4 E bits, and 4 is tight
    deviations   random subsets, l1 regression, rounded: k = O(n) questions and E = c sqrt(n) leave o(n) wrong; of
                 gross errors anywhere a fraction below 0.239 is tolerated, as k / n grows
    hadamard     n explicit subsets: at most 36 E^2 bits are wrong, in O(n log n) time

So whoever answers all subset questions within o(sqrt n) gives everybody away.  Proof: docs/theory/reconstruction.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from discreet.attacks.reconstruction.least_deviations import least_deviations
from discreet.attacks.reconstruction.subsets import all_subsets
from discreet.errors import ParameterError, require
from discreet.threads import one_thread

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bits = npt.NDArray[np.uint8]
    Floats = npt.NDArray[np.float64]

Method = Literal["deviations", "exhaustive", "hadamard"]
ENUMERATED = 16  # people, of whom all 2^n tables are tried
BLOCK = 1 << 22  # entries of a block of tables times questions


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """What an attacker believes: a bit for every person, and how sure, where the attack says.

    >>> from discreet.attacks import random_subsets
    >>> questions = random_subsets(20, 80, seed=1)
    >>> secret = questions[0]
    >>> reconstruct(questions, questions @ secret).wrong(secret)
    0.0
    """

    bits: Bits
    likely: Floats | None = field(default=None, repr=False)
    steps: int = 0

    def wrong(self, truth: npt.ArrayLike) -> float:
        """The fraction of people about whom the attacker is wrong."""
        import numpy as np

        secret = np.asarray(truth).astype(np.uint8)
        require(secret.shape == self.bits.shape, "one bit a person", people=len(self.bits))
        return float(np.mean(secret != self.bits))


def reconstruct(
    queries: npt.ArrayLike | None, answers: npt.ArrayLike, *, method: Method = "deviations"
) -> Reconstruction:
    """Guess the bits of n people from answers to k subset questions, a k by n array of zeros and ones.

    `method="exhaustive"` tries every table of at most 16 people and takes one whose worst error is least;
    `method="hadamard"` takes the answers to `hadamard_subsets(n)` in order, and no array: `queries` is None.

    >>> import numpy as np
    >>> from discreet.attacks.reconstruction.subsets import random_subsets
    >>> secret = np.random.default_rng(0).integers(0, 2, 100)
    >>> asked = random_subsets(100, 400, seed=1)
    >>> noisy = asked @ secret + np.random.default_rng(2).uniform(-1, 1, 400)  # sqrt(100) / 10
    >>> reconstruct(asked, noisy).wrong(secret)
    0.0
    """
    import numpy as np

    given = _answers(answers)
    if method == "hadamard":
        if queries is not None:
            raise ParameterError("need queries=None for method='hadamard': its questions are fixed")
        return _hadamard(given)
    asked = np.asarray(queries)
    shaped = asked.ndim == 2 and len(asked) == len(given) and asked.shape[1] >= 1
    if not shaped or asked.dtype.kind not in "biuf" or not np.isin(asked, (0, 1)).all():
        raise ParameterError("need a k by n array of zeros and ones, and k answers")
    if method == "exhaustive":
        return _exhaustive(asked.astype(np.uint8), given)
    if method != "deviations":
        raise ParameterError(f"need a method among deviations, exhaustive, hadamard, got {method!r}")
    found = least_deviations(asked.astype(np.uint8), given)
    return Reconstruction((found.bits >= 0.5).astype(np.uint8), found.bits, found.steps)


def _answers(answers: npt.ArrayLike) -> Floats:
    import numpy as np

    given = np.asarray(answers, dtype=np.float64)
    if given.ndim != 1 or len(given) < 1 or not np.isfinite(given).all():
        raise ParameterError("need finite answers, one a question")
    return given


def _hadamard(answers: Floats) -> Reconstruction:
    """h_0 = y_0, h_i = 2 y_i - y_0, x = H h / n."""
    import numpy as np

    from discreet.structured.marginals.fourier import walsh_hadamard

    n = len(answers)
    require(n & (n - 1) == 0, "a power of two answers", answers=n)
    signed = 2 * answers - answers[0]
    signed[0] = answers[0]
    likely = walsh_hadamard(signed[None, :])[0] / n
    return Reconstruction((likely >= 0.5).astype(np.uint8), likely)


def _exhaustive(queries: Bits, answers: Floats) -> Reconstruction:
    """The table whose largest error is least, exactly; among equals the first.

    A count less an answer is rounded once, which never turns the order of two errors round.  So the least of the
    rounded errors is that of the best tables, and among these what was rounded off decides.
    """
    import numpy as np

    people = queries.shape[1]
    require(people <= ENUMERATED, f"at most {ENUMERATED} people", people=people)
    asked = np.ascontiguousarray(queries.T, dtype=np.float64)
    tables = all_subsets(people)
    worst = np.empty(len(tables))
    step = max(1, BLOCK // len(answers))

    def counts(some: npt.NDArray[Any]) -> Floats:  # (tables, questions), exact: small integers
        return some.astype(np.float64) @ asked

    with one_thread():
        for start in range(0, len(tables), step):
            worst[start : start + step] = np.abs(counts(tables[start : start + step]) - answers).max(axis=1)
        least = np.flatnonzero(worst == worst.min())
        rest = np.empty(len(least))
        for start in range(0, len(least), step):
            size, off = _absolute(counts(tables[least[start : start + step]]), answers)
            rest[start : start + step] = np.where(size == size.max(axis=1, keepdims=True), off, -np.inf).max(axis=1)
    return Reconstruction(tables[int(least[rest.argmin()])])


def _absolute(counted: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """|count - answer| as a double and the exact rest that its rounding left (Knuth's sum of two)."""
    import numpy as np

    near = counted - answers
    part = near - counted
    rest = (counted - (near - part)) + (-answers - part)
    return np.abs(near), np.where(near < 0, -rest, rest)
