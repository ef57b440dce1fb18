"""Fingerprinting as an auditor: an accurate release of many means is a pirate, and a traced pirate is not private.

Theorem (Bun, Ullman, Vadhan 2014).  Take a code for n + 1 users, a random user j left out, and release the means of the
n other words.  If every mean is off by less than 1/2, rounding them gives a feasible word, and somebody is traced.  For
an (epsilon, delta)-DP mechanism under Replace, since the data without j and without i differ in one row,

    Pr[i is accused, j left out]  <=  e^epsilon Pr[i is accused, i left out] + delta.

So an accurate mechanism whose traces hardly ever fall on the one left out has a large epsilon, whatever it claims: with
failures xi' in all and xi on the one left out, (1 - xi') / n <= e^epsilon xi + delta.  Proof: docs/theory/traitors.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.attacks.codes.tardos import tardos
from discreet.attacks.confidence import log_ratio_bound
from discreet.attacks.traitors import Broadcast, Record
from discreet.errors import ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Release = Callable[[npt.NDArray[np.int64]], npt.ArrayLike]  # counts to noisy counts


@dataclass(frozen=True, slots=True)
class FingerprintAudit:
    """How often members and the one left out were accused, and the epsilon that this needs at least.

    >>> found = fingerprint_audit(lambda counts: counts, users=4, trials=20, delta=0.01, seed=5)
    >>> found.trials, found.wrong_marks
    (20, 0.0)
    """

    members: int
    left_out: int
    trials: int
    wrong_marks: float  # the fraction of columns on which all agree and the release does not
    epsilon: float


def fingerprint_audit(
    release: Release,
    *,
    users: int,
    trials: int,
    delta: float = 0.0,
    beta: float = 0.01,
    innocent: float | None = None,
    miss: float = 0.05,
    seed: int,
) -> FingerprintAudit:
    """Audit a release of column counts of `users` rows of a Tardos code, under Replace.

    `epsilon` holds with probability 1 - beta.  One member, drawn beforehand, is looked at in each trial.

    >>> found = fingerprint_audit(lambda counts: counts, users=3, trials=60, seed=1)
    >>> found.members > 50, found.left_out, found.epsilon > 1
    (True, 0, True)
    """
    import numpy as np

    whole = isinstance(trials, int) and not isinstance(trials, bool) and trials >= 1
    require(whole, "an integer trials >= 1", trials=trials)
    require(0 <= delta < 1 and 0 < beta < 1, "0 <= delta < 1 and 0 < beta < 1", delta=delta, beta=beta)
    rate = 0.3 / users if innocent is None else innocent
    rng = np.random.default_rng(seed)
    members = left_out = 0
    wrong = []
    for _ in range(trials):
        code = tardos(users + 1, users, innocent=rate, miss=miss, seed=int(rng.integers(1 << 62)))
        order = rng.permutation(users + 1)
        words = code.words[order[1:]].astype(np.int64)
        bits = rounded(release(words.sum(axis=0)), users)
        accused = set(code.trace(bits).tolist())
        members += int(order[1]) in accused
        left_out += int(order[0]) in accused
        wrong.append(wrong_marks(words, bits))
    epsilon = log_ratio_bound((members, left_out), (trials, trials), delta=delta, beta=beta)
    return FingerprintAudit(members, left_out, trials, float(np.mean(wrong)), epsilon)


def mechanism_as_pirate(release: Release, records: list[Record], sent: Broadcast) -> npt.NDArray[np.uint8]:
    """Ask a private table of records (i, key) how many decrypt each column to a one, and round the answers.

    >>> from discreet.attacks.traitors import TraitorTracing
    >>> scheme = TraitorTracing.generate(4, seed=1)
    >>> word = mechanism_as_pirate(lambda counts: counts, list(scheme.records[:2]), scheme.broadcast())
    >>> set(scheme.trace(word).tolist()) <= {0, 1}
    True
    """
    import numpy as np

    require(len(records) >= 1, "at least one record", records=len(records))
    counts = np.stack([record.decrypt(sent) for record in records]).astype(np.int64).sum(axis=0)
    return rounded(release(counts), len(records))


def rounded(answers: npt.ArrayLike, rows: int) -> npt.NDArray[np.uint8]:
    """A one where the answer is above half of the rows.

    >>> rounded([0.2, 2.9], 3).tolist()
    [0, 1]
    """
    import numpy as np

    found = np.asarray(answers, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ParameterError("need a finite answer for every column")
    return (2 * found > rows).astype(np.uint8)


def wrong_marks(words: npt.ArrayLike, bits: npt.ArrayLike) -> float:
    """Of the columns on which all words agree, the fraction that the bits get wrong."""
    import numpy as np

    held, written = np.asarray(words), np.asarray(bits)
    agreed = held.min(axis=0) == held.max(axis=0)
    return float((written[agreed] != held[0, agreed]).mean()) if agreed.any() else 0.0
