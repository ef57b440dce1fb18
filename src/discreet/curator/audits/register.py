"""The register: every public mechanism of every room, with what audits it.

Classes that promise privacy and act, and functions that draw.  Nothing is released by `discreet.composition`, which
only counts what others release.  `Synthetic` and `LinkedSynthetic` are what synthesizers hand out.  `quality` compares
with the private rows for the steward's eyes only, outside of every promise.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable

from discreet.curator.audits import (
    cases_estimators,
    cases_graphs,
    cases_learning,
    cases_local,
    cases_mechanisms,
    cases_release,
    cases_structured,
)
from discreet.curator.audits.case import Subject

ROOMS = ("mechanisms", "release", "structured", "synthesis", "learning", "local")
ACTS = (
    "fit",
    "report",
    "client",
    "open",
    "answer",
    "ask",
    "add",
    "release",
    "releases",
)  # what it may do but be called
MAKERS = {"boosted_parities"}  # functions that make a mechanism
UNPROMISED = {"quality"}
HANDED_OUT = {"Synthetic", "LinkedSynthetic", "Release", "ConjunctionSummary", "ParityAnswers"}
BASES = {"AdmissibleNoise"}  # not abstract by its methods, and never made
SUBJECTS: tuple[Subject, ...] = (
    *cases_mechanisms.SUBJECTS,
    *cases_release.SUBJECTS,
    *cases_structured.SUBJECTS,
    *cases_graphs.SUBJECTS,
    *cases_learning.SUBJECTS,
    *cases_estimators.SUBJECTS,
    *cases_local.SUBJECTS,
)


def public_names(room: str) -> set[str]:
    """The public classes of a room that promise privacy and do something, and its functions that draw or make one.

    That is what the register must hold.

    >>> "Laplace" in public_names("mechanisms"), "Mechanism" in public_names("mechanisms")
    (True, False)
    """
    module = importlib.import_module(f"discreet.{room}")
    found = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    acting = {name for name, item in found.items() if inspect.isclass(item) and _acts(item)} - HANDED_OUT - BASES
    drawing = {name for name, item in found.items() if inspect.isfunction(item) and _draws(item)} - UNPROMISED
    return acting | drawing | (MAKERS & set(found))


def _draws(function: Callable[..., object]) -> bool:
    return "rng" in inspect.signature(function).parameters


def _acts(item: type) -> bool:
    abstract = inspect.isabstract(item) or getattr(item, "_is_protocol", False)
    called = any("__call__" in kind.__dict__ for kind in item.__mro__)
    return not abstract and hasattr(item, "privacy") and (called or any(hasattr(item, act) for act in ACTS))


def named(name: str) -> list[Subject]:
    """The subjects of this name, with its room or without; all of a room for the name of one.

    >>> [subject.known_as for subject in named("Laplace")]
    ['mechanisms.Laplace']
    """
    return [s for s in SUBJECTS if name in (s.room, s.known_as, s.name) or name == s.name.split(",")[0]]
