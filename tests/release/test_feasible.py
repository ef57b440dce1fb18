"""discreet.release.feasible: what cannot run is refused when it is built, free, with the size that would do."""

import time

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import UnsupportedError
from discreet.queries.marginals import marginals
from discreet.release import (
    MWEM,
    BoostedQueries,
    LeastSquaresProjection,
    PrivateMultiplicativeWeights,
    SmallDatabase,
)
from discreet.release.feasible import listed, memory


def bits(count):
    return dc.Domain({f"b{i}": dc.Boolean() for i in range(count)})


WIDE = dc.Domain({f"x{i}": dc.Integer(0, 10**6) for i in range(4)})
BUILT = {
    "projection": lambda w: LeastSquaresProjection(w, budget=dc.ZCDP(1)),
    "mwem": lambda w: MWEM(w, budget=dc.ZCDP(1)),
    "mwem, average": lambda w: MWEM(w, budget=dc.ZCDP(1), estimate="average"),
    "mwem, on a card": lambda w: MWEM(w, budget=dc.ZCDP(1), device="cuda"),
    "weights": lambda w: PrivateMultiplicativeWeights(w.domain, budget=dc.PureDP(1), queries=10),
    "boosted": lambda w: BoostedQueries(
        lambda sample, budget: LeastSquaresProjection(sample, budget=budget, n=1000), w, budget=dc.ZCDP(1), n=1000,
        sample=20, error=5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("workload", [marginals(bits(40), 2), marginals(bits(60), 1), marginals(WIDE, 1)], ids=repr)
def test_an_absurd_universe_is_refused_at_once(name, workload):
    start = time.process_time()
    with pytest.raises(UnsupportedError, match="leave columns out"):
        BUILT[name](workload)

    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", [name for name in BUILT if name != "mwem, on a card"])
def test_a_small_one_is_built(name):
    BUILT[name](marginals(bits(8), 2))


@pytest.mark.parametrize("rows", [None, 10**8])
@pytest.mark.parametrize("workload", [marginals(bits(40), 2), marginals(WIDE, 1)], ids=repr)
def test_too_many_candidates_are_refused_before_they_are_counted(workload, rows):
    small = SmallDatabase(workload, budget=dc.PureDP(1), n=10**9, rows=rows)
    start = time.process_time()
    with pytest.raises(UnsupportedError, match="cannot be listed; pass fewer rows="):
        small.fits()

    assert time.process_time() - start < 5


def test_what_is_refused_says_the_size_that_would_do():
    room = memory()
    with pytest.raises(UnsupportedError, match=f"enough for {room // 24:,} cells"):
        listed(1 << 60, each=24, what="the projection")
    listed(room // 24, each=24, what="the projection")


def test_a_release_that_cannot_run_is_not_charged():
    """It was charged, and died of memory."""
    rows = pa.table({name: np.zeros(4, dtype=bool) for name in bits(40)})
    table = dc.Table(rows, domain=bits(40), unit=None)

    def small(workload, *, budget, n):
        return SmallDatabase(workload, budget=budget, n=10**6)

    with dc.Curator({"t": table}, budget=dc.ZCDP(1), ledger=":memory:") as made:
        for mechanism in (LeastSquaresProjection, "LeastSquaresProjection", MWEM, "MWEM, 10 rounds"):
            with pytest.raises(UnsupportedError, match="lists the universe"):
                made.release(marginals(bits(40), 2), table="t", budget=dc.ZCDP(0.5), mechanism=mechanism)

        for _ in range(2):
            with pytest.raises(UnsupportedError, match="cannot be listed"):
                made.release(marginals(bits(40), 2), table="t", budget=dc.ZCDP(0.5), mechanism=small)
        assert made.budget.balance.spent.rho == 0
        assert [entry for entry in made.ledger.entries() if entry.record["kind"] == "spend"] == []
