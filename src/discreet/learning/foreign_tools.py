"""Tools that fit a private estimator without accounting for it: refused, unless somebody says that they know.

A search or a cross-validation of scikit-learn clones an estimator and fits each clone at its full budget; a scaler in
front of it reads means that nobody paid for.  What such a tool hands back states the price of its last fit alone.

Fact.  To clone a private estimator raises if a tool asks for the clone, and to fit one raises, before a row is read, if
a tool stands above the fit on the stack, in this process or in a worker.  A tool is a function of scikit-learn, or an
estimator, from any package, that has no `privacy()` of its own.  Not a tool: scikit-learn's pipeline where this is its
only private step and every other step does to each row what it would do to that row alone.  Code that is neither, such
as a loop of the caller's own over clones, cannot be told from a caller who fits once more and knows it.
What to use instead: docs/guide/estimators.md.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from discreet.errors import UnsupportedError

# Frames of these modules stand between a caller and an estimator's own methods: fit_transform and the like.
_PART_OF_EVERY_ESTIMATOR = ("sklearn.base", "sklearn.utils._set_output")


class _Known:
    """How many `unaccounted` blocks are open, in all threads: the workers of a tool take clones in any of them."""

    def __init__(self) -> None:
        self.lock, self.depth = threading.Lock(), 0


_known = _Known()


@contextmanager
def unaccounted() -> Iterator[None]:
    """Let tools that do not account fit private estimators: each fit spends its whole budget, and they add up.

    For rows that are public or made up, or where the caller adds the fits up.  It holds for all threads of this process
    and for the workers that a tool starts with clones made inside.

    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from discreet.data import Domain, Integer
    >>> from discreet.learning import NaiveBayes
    >>> from discreet.privacy.guarantee import PureDP
    >>> X, y = np.arange(100).reshape(100, 1), np.arange(100) > 49
    >>> model = NaiveBayes(budget=PureDP(1), domain=Domain({"a": Integer(0, 99)}))
    >>> with unaccounted():
    ...     scores = cross_val_score(model, X, y, cv=3)  # three fits: 3 together, and the scores are not private
    >>> scores.shape
    (3,)
    """
    with _known.lock:
        _known.depth += 1
    try:
        yield
    finally:
        with _known.lock:
            _known.depth -= 1


def clone_is_known(model: object) -> bool:
    """Whether somebody said that they know what a clone made now is for; raises if a tool asks for it."""
    if _known.depth:
        return True
    found = _tools(sys._getframe(1))
    if found:
        raise _refusal(model, found)
    return False


def refuse_tools(model: object) -> None:
    """Raise if a tool that does not account is about to fit this model."""
    if _known.depth or getattr(model, "_known_clone", False):
        return
    found = _tools(sys._getframe(1))
    if found and not (len(found) == 1 and _plain_pipeline(found[0], model)):
        raise _refusal(model, found)


def _tools(frame: FrameType | None) -> list[object]:
    """Estimators that do not account, the nearest first, then the outermost function of scikit-learn that is a tool."""
    estimators, functions = list[object](), list[str]()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        owner = frame.f_locals.get("self")
        if _fits_unseen(owner):
            if not any(one is owner for one in estimators):
                estimators.append(owner)
        elif module.startswith("sklearn.") and module not in _PART_OF_EVERY_ESTIMATOR:
            functions.append(f"{module}.{frame.f_code.co_name}")
        frame = frame.f_back
    helpers = ("sklearn.pipeline.", "sklearn.utils.", "sklearn.callback.")  # what the method of an estimator calls
    if functions and not (estimators and all(name.startswith(helpers) for name in functions)):
        return [*estimators, functions[-1]]
    return estimators


def _private(owner: object) -> bool:
    """Whether it states what it spends."""
    return callable(getattr(type(owner), "privacy", None))


def _fits_unseen(owner: object) -> bool:
    """Whether it is an estimator that does not."""
    base = sys.modules.get("sklearn.base")
    return base is not None and isinstance(owner, base.BaseEstimator) and not _private(owner)


def _plain_pipeline(tool: object, model: object) -> bool:
    """Whether it is scikit-learn's own pipeline with nothing in it that learns from rows but this model."""
    from sklearn.pipeline import Pipeline

    if type(tool) is not Pipeline:
        return False
    others = [step for _, step in tool.steps if step is not model]
    return len(others) == len(tool.steps) - 1 and all(row_by_row(step) for step in others)


def row_by_row(step: object) -> bool:
    """Whether a step of a pipeline learns nothing, and does to each row what it would do to that row alone.

    >>> from sklearn.preprocessing import Normalizer, StandardScaler
    >>> row_by_row(Normalizer()), row_by_row(StandardScaler())
    (True, False)
    """
    from discreet.learning.scaling import DeclaredScaler

    if step is None or step == "passthrough" or type(step) is DeclaredScaler:
        return True
    kind: Any = type(step)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}" in _ROW_BY_ROW


# Of scikit-learn's transformers those that learn nothing.  Not FunctionTransformer: its function sees all rows.
_ROW_BY_ROW = {f"sklearn.{name}" for name in ("Binarizer", "FeatureHasher", "HashingVectorizer", "Normalizer")}


def _refusal(model: object, tools: list[object]) -> UnsupportedError:
    from sklearn.pipeline import Pipeline

    tool = tools[-1] if isinstance(tools[-1], str) else type(tools[-1]).__name__
    budget = getattr(model, "budget", None)
    price = "its whole budget" if budget is None else str(budget)
    unpaid = ", and what steps beside it learn from rows is not paid for" if _any(tools, Pipeline) else ""
    return UnsupportedError(
        f"{tool} fits {type(model).__name__} and accounts for nothing: each fit spends {price} once more{unpaid};"
        " use cross_validate, cross_val_score and Pipeline of discreet.learning, and DeclaredScaler in place of a step"
        " that learns scales; or, if this is meant, with discreet.learning.unaccounted(): ..."
    )


def _any(tools: list[object], kind: type) -> bool:
    return any(isinstance(one, kind) for one in tools)
