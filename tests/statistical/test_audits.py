"""Every public mechanism, audited on bad neighbours: nothing above the claim, and little below a tight one."""

import pytest

from discreet.attacks import audit
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.number import exact
from tests.scale import FULL, counts
from tests.statistical.cases import CASES, public_mechanisms

EPSILONS = (0.1, 0.5, 1, 4)
SAMPLES = counts(quick=300_000, full=1_000_000)
PAIRS = [
    pytest.param(case, epsilon, id=f"{name}-{epsilon}-{case.inputs}")
    for name, cases in CASES.items()
    for epsilon in (EPSILONS if FULL or name == "Laplace" else (1,))
    for case in cases(epsilon)
]


def test_no_public_mechanism_is_left_out():
    assert public_mechanisms() <= {name.split(",")[0] for name in CASES}


@pytest.mark.statistical
@pytest.mark.parametrize(("case", "epsilon"), PAIRS)
def test_an_audit_stays_below_the_claim(case, epsilon):
    """An honest mechanism fails with probability 1e-5 a case; a tight one is seen almost whole."""
    samples = 1_000_000 if case.share >= 0.88 else SAMPLES
    if not case.share:  # nothing is asked of how much is seen
        samples = counts(quick=60_000, full=1_000_000)
    if case.slow:
        samples = counts(quick=5_000, full=100_000)
    found = audit(case.mechanism, case.inputs, samples, delta=case.delta, rng=SeededRandom(1))
    claimed = float(exact(case.mechanism.privacy().to_approx(case.delta).epsilon))

    assert found.epsilon <= claimed
    assert found.epsilon >= case.share * claimed
