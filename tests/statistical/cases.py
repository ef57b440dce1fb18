"""Every mechanism of `discreet.mechanisms` with its worst-case neighbours: the register, as the audits here use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from discreet.curator.audits.case import Case as Case
from discreet.curator.audits.case import Rows as Rows
from discreet.curator.audits.cases_mechanisms import SUBJECTS
from discreet.curator.audits.register import public_names


def _in_epsilon(cases: Callable[[float], Iterator[Case]]) -> Callable[[float], Iterator[Case]]:
    """Without those that claim mu, which have an audit of their own."""
    return lambda epsilon: (case for case in cases(epsilon) if not case.gaussian)


CASES = {subject.name: _in_epsilon(subject.cases) for subject in SUBJECTS}


def public_mechanisms() -> set[str]:
    """The names of all mechanisms that `discreet.mechanisms` exports, but for the noises of `SmoothSensitivity`."""
    return {name for name in public_names("mechanisms") if not name.endswith("Noise")}
