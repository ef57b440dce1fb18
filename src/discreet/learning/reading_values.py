"""Values of columns whose type no schema tells, each read by itself.

Theorem.  `text_of` is a total function of one value and of the declaration: it raises for no object, and what it gives
to a value does not depend on any other.  What it makes of numbers, truth values, days, moments and text is what the
declaration makes of columns of those types; anything else is NULL.  Decimals, fractions and integers of more than 18
digits are read as the nearest double.  Proof: docs/theory/estimators.md.
"""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from uuid import UUID

from discreet.data.columns import Boolean, Categorical, Column

if TYPE_CHECKING:
    import pyarrow

LARGE = 10**38  # integers beyond are read as this times ten, with their sign


def texts(values: Any, declared: Column) -> pyarrow.Array:  # noqa: ANN401 - an array or list of objects
    """One text a value, by which the declaration reads it, or NULL.

    >>> from discreet.data.columns import Integer
    >>> texts([3, 2.5, "4", None, [1], 2**100], Integer(0, 9)).to_pylist()
    ['3', '2.5', '4', None, None, '1267650600228229401496703205376']
    """
    import pandas as pd
    import pyarrow

    if pd.api.types.infer_dtype(values, skipna=True) == "string":  # the same, in compiled code
        try:
            return pyarrow.array(values, type=pyarrow.string(), from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError):  # text that is none: half of a pair of surrogates
            pass
    return pyarrow.array([text_of(value, declared) for value in values], type=pyarrow.string())


def text_of(value: object, declared: Column) -> str | None:
    """The text by which the declaration reads a value; None if it cannot.

    >>> from discreet.data.columns import Integer
    >>> text_of(True, Integer(0, 9)), text_of(True, Categorical(["true", "false"])), text_of(object(), Integer(0, 9))
    ('1', 'true', None)
    """
    try:
        return _text(value, declared)
    except Exception:  # an object may answer any question by an error of its own
        return None


def _text(value: Any, declared: Column) -> str | None:  # noqa: ANN401 - one line a type
    import numpy as np

    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
        return _moment(value, declared) if isinstance(value, dt.datetime) else None
    if isinstance(value, np.generic):
        value = float(value) if isinstance(value, np.floating) else value.item()
    words = isinstance(declared, Categorical) and isinstance(declared.values[0], str)
    match value:
        case bool():
            return ("true" if value else "false") if words else str(int(value))
        case int():
            return _integer(int(value), declared)
        case float() | Decimal() | Fraction():
            return None if words else _number(value, declared)
        case str():
            return value.encode("utf-8").decode("utf-8")  # a plain text, or an error
        case bytes():
            return value.decode("utf-8")
        case dt.datetime():
            return None if words else _moment(value, declared)
        case dt.date():
            return dt.date(value.year, value.month, value.day).isoformat()
        case UUID():
            return str(value) if words else None
    return None


def _integer(value: int, declared: Column) -> str:
    if isinstance(declared, Boolean):
        return str(int(value != 0))
    if abs(value) < LARGE:
        return str(value)
    return "1e39" if value > 0 else "-1e39"


def _number(value: float | Decimal | Fraction, declared: Column) -> str | None:
    """A number with a point: NaN is NULL, and what has no double is the largest of its sign."""
    if value != value:
        return None
    if isinstance(declared, Boolean):
        return str(int(value != 0))
    if isinstance(declared, Categorical):
        return str(int(value)) if abs(value) < LARGE and value == int(value) else None
    largest = sys.float_info.max
    return repr(float(min(max(value, -largest), largest)))


def _moment(value: dt.datetime, declared: Column) -> str | None:
    """Without a time zone, in UTC; microseconds are kept."""
    if isinstance(declared, Categorical) or value != value:
        return None
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC)
    parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    return dt.datetime(*parts).isoformat(sep=" ", timespec="microseconds")
