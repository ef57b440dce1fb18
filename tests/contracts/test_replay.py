"""Record and replay of every release of `discreet.release` and `discreet.structured`: what neighbours may not change.

With every release as it was on the neighbour, the calls, their parameters, what they cost and the result are the same,
and one row, edge or vertex moves what a mechanism is fed by no more than it declares.  No statistics are involved.
"""

from __future__ import annotations

import inspect

import pytest

from discreet import release, structured
from discreet.attacks import replay
from discreet.composition.price import price
from tests.contracts.programs import PROGRAMS
from tests.scale import counts

PAIRS = counts(quick=2, full=100)  # of neighbours, in both orders
FAR = 8  # rows, edges or vertices: too many for one declaration
PARTS = {"Ladder", "NoisyLocal", "SensitivityBound"}  # of TriangleCount and TriangleBound, which are run


def test_no_public_release_is_left_out():
    public = {
        name
        for folder in (release, structured)
        for name, item in vars(folder).items()
        if inspect.isclass(item)
        and {"privacy", "event"} <= set(dir(item))
        and {"__call__", "open", "add"} & set(vars(item))
    }

    assert public - PARTS == {type(program.made).__name__ for program in PROGRAMS}


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_neighbours_change_nothing_but_what_mechanisms_are_fed(program):
    for seed in range(PAIRS):
        pair = program.pair(seed)
        for one in (pair, pair[::-1]):
            found = replay(program, one)

            assert found.violations == ()
            assert found.steps
            if program.pieces:
                assert max(found.joint().values()) <= 1 + 1e-9
            else:
                assert within(found.price(), price(program.made.event()))


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_data_farther_apart_than_declared_is_seen(program):
    """The twin of every one: a unit with several rows, sold at the noise of one."""
    found = (replay(program, program.pair(seed, apart=FAR)) for seed in range(12))

    assert any(one.violations or (program.pieces and max(one.joint().values()) > 1 + 1e-9) for one in found)


def within(ran, declared):
    """Whether what ran costs no more than what was declared, but for the rounding up of sensitivities."""
    slack = 1 + 1e-9
    dear = declared.epsilon is not None and (ran.epsilon is None or ran.epsilon > declared.epsilon * slack)
    return not dear and ran.rho <= declared.rho * slack and ran.delta <= declared.delta * slack
