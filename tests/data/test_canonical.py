"""discreet.data.canonical: two settings have one key only if they are the same, in every process and every module."""

from __future__ import annotations

import dataclasses
import datetime as dt
import importlib
import inspect
import pkgutil
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.data import canonical as home
from discreet.data.canonical import canonical, digest, digest_or_none
from discreet.data.columns import Boolean, Categorical, Integer
from discreet.data.domain import Domain
from discreet.errors import UnsupportedError
from discreet.learning.stored import estimators, named
from discreet.planning.builtin import BUILTIN
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries.marginals import marginals
from discreet.release import IndependentNoise

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=3),
    st.binary(max_size=3), st.fractions(max_denominator=9),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)
DOMAIN = Domain({"a": Integer(0, 3), "b": Boolean(), "c": Categorical(["x", "y"])})


def meaning(value):
    """What a value is, apart from how it is written: told apart by Python's own equality."""
    match value:
        case bool() | None:
            return (type(value).__name__, value)
        case int() | float() | Fraction():
            return ("number", Fraction(repr(value)) if isinstance(value, float) else Fraction(value))
        case list():
            return ("list", tuple(map(meaning, value)))
        case dict():
            return ("dict", frozenset((meaning(key), meaning(one)) for key, one in value.items()))
        case _:
            return (type(value).__name__, value)


@settings(max_examples=300)
@given(VALUES, VALUES)
def test_bytes_are_equal_only_where_values_are(a, b):
    assert (canonical(a) == canonical(b)) == (meaning(a) == meaning(b))


@settings(max_examples=200)
@given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
def test_parts_never_run_into_one_another(a, b):
    assert (digest(*a) == digest(*b)) == (a == b)


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (1, 1.0), (0.1, Fraction(1, 10)), ((1, 2), [1, 2]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1, 2}, frozenset({2, 1})),
        (np.float64(0.5), 0.5), (np.int32(3), 3), (PureDP(1), PureDP("1")), (PureDP(0.5), PureDP(Fraction(1, 2))),
        (np.arange(4), np.arange(4).astype(">i8")), (np.eye(3), np.asfortranarray(np.eye(3))),
    ],
)  # fmt: skip
def test_one_setting_written_in_two_ways_has_one_key(one, same):
    assert canonical(one) == canonical(same)


def _middle(value):
    matrix = np.eye(64)
    matrix[31, 17] = value
    return matrix


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_middle(0.0), _middle(1e-300)), (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (1, True), (0, False), ("1", 1), (b"a", "a"), (None, "None"), (["ab", "c"], ["a", "bc"]), ([[1], 2], [[1, 2]]),
        (0.1, 0.1 + 2**-56), (np.float32(0.1), 0.1), (PureDP(1), ZCDP(1)), (PureDP(1), PureDP(1, neighbours=AddRemove)),
        (PureDP(1, neighbours=AddRemove), PureDP(1, neighbours=Replace)), (ApproxDP(1, 1e-6), ApproxDP(1, 1e-7)),
        (Domain({"a": Integer(0, 1), "b": Boolean()}), Domain({"b": Boolean(), "a": Integer(0, 1)})),
        (Integer(0, 1), Integer(0, 1, nullable=True)), (marginals(DOMAIN, 1), marginals(DOMAIN, 2)),
        (dt.date(2026, 1, 1), dt.datetime(2026, 1, 1)), (sp.eye(3).tocsr(), sp.csr_array(2 * sp.eye(3))), ((), {}),
        ({1: 2}, {2: 1}), (range(3), range(4)), (float("inf"), float("-inf")), (AddRemove, Replace),
    ],
)  # fmt: skip
def test_two_settings_have_two_keys(one, other):
    assert canonical(one) != canonical(other)


def test_a_twin_that_prints_its_parts_is_caught():
    """The flaw that was there: numpy shortens what it prints."""
    assert repr(_middle(0.0)) == repr(_middle(1e6))
    assert canonical(_middle(0.0)) != canonical(_middle(1e6))


class Theirs:
    """A class of somebody else."""


@dataclasses.dataclass(frozen=True)
class TheirRule:
    """A value with a function in it."""

    rule: object


@dataclasses.dataclass(frozen=True)
class TheirNoise(IndependentNoise):
    """A class of somebody else that is made of ours."""


@pytest.mark.parametrize(
    "value",
    [lambda: 1, print, Theirs(), object(), TheirRule(print), {"a": [lambda: 1]}, np.array([print], dtype=object)],
    ids=lambda value: type(value).__name__,
)
def test_what_may_do_anything_has_no_key(value):
    with pytest.raises(UnsupportedError, match="no key can be made of"):
        canonical(value)
    assert digest_or_none(value) is None


def test_a_class_of_a_module_is_known_by_its_module_and_every_parameter():
    workload = marginals(DOMAIN, 1)
    theirs = [TheirNoise(workload, budget=PureDP(epsilon)) for epsilon in (1, 1.0, 2)]

    assert digest(theirs[0]) == digest(theirs[1]) != digest(theirs[2])
    assert digest(theirs[0]) != digest(IndependentNoise(workload, budget=PureDP(1)))


@pytest.mark.parametrize("module", ["__main__", "tests"])
def test_a_class_of_a_function_or_a_notebook_has_none(module):
    """It may be made anew under the same name."""

    class Local(IndependentNoise):
        pass

    Local.__module__ = module
    if module == "__main__":
        Local.__qualname__ = "Local"

    assert digest_or_none(Local(marginals(DOMAIN, 1), budget=PureDP(1))) is None


def test_a_class_with_more_than_its_fields_has_none():
    made = TheirNoise(marginals(DOMAIN, 1), budget=PureDP(1))
    object.__setattr__(made, "factor", 3)

    assert digest_or_none(made) is None


def test_a_class_that_moves_to_another_module_keeps_its_key(monkeypatch):
    value = IndependentNoise(marginals(DOMAIN, 1), budget=PureDP(1))
    before = canonical(value)
    monkeypatch.setattr(IndependentNoise, "__module__", "discreet.release.elsewhere")

    assert canonical(value) == before
    assert b"discreet." not in before


def _classes():
    """Every class of the rooms whose parameters can be written, by name."""
    found = defaultdict(set)
    for module in pkgutil.walk_packages(discreet.__path__, "discreet."):
        if module.name.split(".")[1] not in home.ROOMS:
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:  # what it needs is not installed here
            continue
        for kind in vars(loaded).values():
            own = inspect.isclass(kind) and kind.__module__ == module.name
            if own and (dataclasses.is_dataclass(kind) or hasattr(kind, "get_params")):
                found[kind.__name__].add(module.name)
    return found


def test_a_name_is_one_class():
    shared = {name: modules for name, modules in _classes().items() if len(modules) > 1}

    assert set(shared) <= set(home.SHARED)
    assert [name for name, module in home.SHARED.items() if module and module not in shared[name]] == []


@pytest.mark.parametrize("candidate", BUILTIN, ids=lambda one: one.name)
def test_every_mechanism_of_the_planner_has_a_key_and_its_parameters_change_it(candidate):
    built = []
    for budget in (PureDP(1), ZCDP(1)):
        for workload in (marginals(DOMAIN, 1), marginals(DOMAIN, 2)):
            try:
                built.append(candidate.build(workload, budget, 100))
            except UnsupportedError:
                continue
    keys = [digest(one) for one in built]

    assert len(set(keys)) == len(keys)
    assert built or candidate.name in ("PrefixTree", "ProjectedParities", "MarginalRelease", "SmallDatabase")


@pytest.mark.parametrize("name", estimators())
def test_every_estimator_has_a_key(name):
    given = {"queries": 3} if name == "KNeighborsClassifier" else {}
    if name == "Pipeline":
        pytest.skip("made of others")
    first, second = (named(name)(budget=PureDP(epsilon), **given) for epsilon in (1, 2))

    assert digest(first) == digest(named(name)(budget=PureDP(1.0), **given)) != digest(second)
