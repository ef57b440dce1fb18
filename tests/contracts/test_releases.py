"""What every release mechanism keeps, whatever it does: built, priced, run, stored and refused alike."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from discreet.composition import best
from discreet.composition.price import price
from discreet.data import Boolean, Domain, Histogram, Integer
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.planning.candidate import candidates
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import exact
from discreet.queries import Workload, marginals, parities, thresholds
from discreet.release.stored import from_bytes, to_bytes

BITS = Domain({"a": Boolean(), "b": Boolean(), "c": Boolean()})
WORKLOADS = {"marginals": marginals(BITS, 2), "thresholds": thresholds(4), "parities": parities(BITS, 2)}
BUDGETS = {"pure": PureDP(1), "zcdp": ZCDP("1/10"), "approx": ApproxDP(1, 1e-6)}
ROWS = 6
LONGER = {"MWEM, 30 rounds", "MWEM, 100 rounds"}  # the same mechanism as with ten
NAMES = [one.name for one in candidates() if one.name not in LONGER]


@functools.cache
def built() -> dict[str, list[tuple[object, Workload, Guarantee, int | None]]]:
    """Every mechanism of the planner on every workload and budget, with a public and with a private n."""
    found: dict[str, list[tuple[object, Workload, Guarantee, int | None]]] = {name: [] for name in NAMES}
    for candidate in (one for one in candidates() if one.name in found):
        for workload in WORKLOADS.values():
            for budget in BUDGETS.values():
                for n in (None, ROWS):
                    try:
                        made = candidate.build(workload, budget, n)
                    except (UnsupportedError, ParameterError):
                        continue
                    found[candidate.name].append((made, workload, budget, n))
    return found


def data(workload: Workload) -> Histogram:
    return Histogram.random(workload.domain, n=ROWS, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_built_and_promises_its_budget_under_its_relation(name):
    assert built()[name]
    for made, _, budget, n in built()[name]:
        promised = made.privacy()

        assert promised.neighbours is (AddRemove if n is None else Replace)
        assert promised <= budget


@pytest.mark.parametrize("name", NAMES)
def test_what_ran_is_accounted_within_the_budget(name):
    """But for the rounding up of sensitivities and sigmas, and for the grid of the accountant."""
    slack, accountant = 1 + 1e-9, 1 + 1e-6
    for made, _, budget, _ in built()[name]:
        event = made.event()
        match budget:
            case PureDP():
                cost = price(event).epsilon
                assert cost is not None
                assert cost <= exact(budget.epsilon)
            case ZCDP():
                assert price(event).rho <= float(exact(budget.rho)) * slack
            case ApproxDP():
                found = best([event], delta=budget.delta)
                assert float(exact(found.epsilon)) <= float(exact(budget.epsilon)) * accountant


@pytest.mark.parametrize("name", NAMES)
def test_it_answers_the_workload_from_its_noise_alone(name):
    """The same seed gives the same release.  What no seed changes, no row changes either."""
    for made, workload, _, _ in built()[name]:
        first, same = (made(data(workload), rng=SeededRandom(1)) for _ in range(2))
        others = [made(data(workload), rng=SeededRandom(seed)) for seed in (2, 3, 4)]

        assert first.workload is workload
        assert first.answers.shape == (len(workload),)
        assert np.isfinite(first.answers).all()
        assert np.array_equal(first.answers, same.answers)
        if all(np.array_equal(first.answers, other.answers) for other in others):
            changed = made(Histogram.random(workload.domain, n=ROWS, seed=2), rng=SeededRandom(1))
            assert np.array_equal(first.answers, changed.answers)
        assert first.privacy() == made.privacy()


@pytest.mark.parametrize("name", NAMES)
def test_its_release_is_stored_and_its_errors_stated_or_refused(name):
    for made, workload, _, _ in built()[name]:
        found = made(data(workload), rng=SeededRandom(1))
        release = getattr(found, "release", found)  # some have more to them
        back = from_bytes(to_bytes(release))

        assert np.array_equal(back.answers, release.answers)
        assert (back.model is None) == (release.model is None)
        try:
            alpha = release.accuracy(0.05)
        except UnsupportedError:
            continue
        assert alpha >= 0
        assert back.accuracy(0.05) == pytest.approx(alpha)
        assert release.errors.each(0.05).shape == (len(workload),)


@pytest.mark.parametrize("name", NAMES)
def test_data_of_another_domain_is_refused(name):
    other = Histogram.random(Domain({"z": Integer(0, 6)}), n=ROWS, seed=1)
    for made, _, _, _ in built()[name]:
        with pytest.raises((DomainError, ParameterError)):
            made(other, rng=SeededRandom(1))
