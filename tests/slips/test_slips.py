"""Plausible slips, planted one at a time in a copy of the source: the tests that each names must fail."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.scale import counts
from tests.slips.plant import ROOT, slips

QUICK = ("an array of coins is not settled",)
PLANTED = counts(quick=len(QUICK), full=len(slips()))
CHOSEN = [slip for slip in slips() if len(QUICK) < PLANTED or slip.name in QUICK]


def test_every_slip_can_still_be_planted_and_names_tests_that_exist():
    """The source has moved on where this fails: say the slip anew."""
    for slip in slips():
        source = (ROOT / "src" / slip.path).read_text(encoding="utf-8")

        assert slip.planted(source) != source
        compile(slip.planted(source), slip.file, "exec")
        assert all((ROOT / "tests" / one.partition("::")[0]).exists() for one in slip.tests.split()), slip.name
    assert len({slip.name for slip in slips()}) == len(slips()) >= 60


def plant(name):
    """In a process of its own, which has not loaded the package."""
    command = [sys.executable, "-m", "tests.slips.plant", name]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.acceptance
@pytest.mark.parametrize("slip", CHOSEN, ids=lambda slip: slip.name)
def test_a_slip_is_noticed(slip):
    assert f"1 of 1 slips noticed: {slip.name}" in plant(slip.name).stdout


def test_source_without_a_slip_passes():
    """The twin: what the harness calls noticed is the slip, and not the copy."""
    assert "0 of 1 slips noticed: no slip" in plant("no slip").stdout
