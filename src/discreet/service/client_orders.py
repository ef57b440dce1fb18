"""Long orders as JSON: workloads, settings and models by their names and numbers, never as code.

What comes back is held against what was ordered: another workload, another promise or another table is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from discreet.errors import ParameterError, UnsupportedError
from discreet.queries.workload import Workload
from discreet.service.client_answers import differs

if TYPE_CHECKING:
    from discreet.curator.batch import Batch
    from discreet.curator.fit_run import Order
    from discreet.learning.estimator import PrivateEstimator
    from discreet.release.release import Release

    Model = TypeVar("Model", bound=PrivateEstimator)


def workload_body(workload: object) -> dict[str, object]:
    """A workload by its name.

    >>> from discreet.data.columns import Boolean, Integer
    >>> from discreet.data.domain import Domain
    >>> from discreet.queries import marginals, thresholds
    >>> people = Domain({"age": Integer(0, 119), "icu": Boolean()})
    >>> workload_body(marginals(people, 1)), workload_body(thresholds(people.project(["age"])))
    ({'marginals': 1, 'columns': ['age', 'icu']}, {'thresholds': 'age'})
    """
    from discreet.queries.marginals import Marginals, marginals
    from discreet.queries.ordered import Thresholds

    if not isinstance(workload, Workload):
        raise ParameterError(f"need a Workload, such as marginals(domain, 2), got {type(workload).__name__}")
    written = workload.to_dict()
    if type(workload) is Marginals:
        ways = len(workload.sets[0])
        if marginals(workload.domain, ways).to_dict() == written:
            return {"marginals": ways, "columns": list(workload.domain)}
    if type(workload) is Thresholds and len(workload.domain) == 1:
        return {"thresholds": next(iter(workload.domain))}
    raise UnsupportedError(
        "a service releases all marginals of some columns, or thresholds: others are released by a Curator"
    )


def settings_body(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings of a synthesizer that JSON can say."""
    for name, value in settings.items():
        if not _plain(value):
            raise UnsupportedError(f"the setting {name} does not cross to a service: it is no number, text or list")
    return dict(settings)


def progress_of(given: object) -> bool | Callable[..., object] | None:
    """Whether and whom to tell of progress; it is watched from here, and never sent.

    >>> progress_of(None), progress_of(print) is print
    (None, True)
    """
    if given is None or isinstance(given, bool) or callable(given):
        return given
    raise ParameterError(f"need progress as True, False or a function of two numbers, got {type(given).__name__}")


def model_body(model: PrivateEstimator) -> dict[str, object]:
    """A model by its name and the parameters that are not the usual ones."""
    from discreet.learning.stored import named

    name = type(model).__name__
    if named(name) is not type(model):
        raise UnsupportedError("no code crosses to a service: fit a model of discreet.learning itself")
    usual = named(name)().get_params(deep=False)
    chosen = {key: value for key, value in model.get_params(deep=False).items() if not _same(value, usual.get(key))}
    for key in ("budget", "domain"):  # those of the table and of the order
        if chosen.pop(key, None) is not None:
            raise ParameterError(f"need no {key}= in a model that a service fits: the table and the order have them")
    for key, value in chosen.items():
        if not _plain(value):
            raise UnsupportedError(f"the parameter {key} does not cross to a service: it is no number, text or list")
    return {"model": name, "parameters": chosen}


def copy_of(model: Model) -> Model:
    """One with the same parameters, not fitted."""
    from sklearn.base import clone

    return clone(model)  # type: ignore[return-value]


def same_release(made: Release, step: Batch) -> Release:
    """The release, if it is of the workload that was ordered and keeps what was ordered."""
    if made.workload.to_dict() != step.workload.to_dict() or made.guarantee != step.promise:
        raise differs("the release is not the one that was ordered")
    return made


def same_model(fitted: Model, order: Order) -> Model:
    """The model, if it keeps what was ordered."""
    if fitted.privacy() != order.promise:
        raise differs("the model is not the one that was ordered")
    return fitted


def _plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(_plain(one) for one in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(one) for key, one in value.items())
    return value is None or isinstance(value, bool | int | float | str)


def _same(value: object, usual: object) -> bool:
    return value is usual or (type(value) is type(usual) and _plain(value) and value == usual)
