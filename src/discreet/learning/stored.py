"""Fitted models as bytes: what was learned, in JSON and plain arrays.  Never pickle: a file of a stranger runs nothing.

The attributes that scikit-learn's convention calls fitted, those whose names end in "_", are written: numbers, text,
lists, dictionaries, arrays, domains, columns, events, guarantees, and frozen dataclasses of this package made of such.
`to_bytes` and `from_bytes` leave the parameters to the caller; `save` and `load` write those that are numbers, text or
lists of them as well.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import re
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.data.columns import Column
from discreet.data.columns import column as read_column
from discreet.data.domain import Domain
from discreet.data.stored_bytes import Archive, most
from discreet.data.stored_bytes import text as read_text
from discreet.errors import DiscreetError, ParameterError, UnsupportedError
from discreet.privacy.event import Event
from discreet.privacy.event import from_dict as read_event
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Local

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.learning.estimator import PrivateEstimator

    Model = TypeVar("Model", bound=PrivateEstimator)

VERSION = 1
_MOMENT = (1980, 1, 1, 0, 0, 0)  # of every file inside, so that the same model is the same bytes
_CURRENCIES = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, GaussianDP)}
_ARRAY = re.compile(r"[0-9]{1,7}\.npy")
_NUMBERS = "biuf"  # kinds of arrays that are numbers
_TEXTS = "U"


def to_bytes(model: PrivateEstimator) -> bytes:
    """A fitted model.  The same model is always the same bytes."""
    model.privacy()  # refuse one that is not fitted
    arrays: list[Any] = []
    text = {"version": VERSION, "model": type(model).__name__, "learned": _written(model._learned(), arrays)}
    members = {"model.json": json.dumps(text).encode()}
    members |= {f"{number}.npy": _array_bytes(array) for number, array in enumerate(arrays)}
    made = _archived(members, zipfile.ZIP_DEFLATED)
    # What could not be read back, because it unfolds to too much, is not folded.
    return made if sum(map(len, members.values())) <= most(len(made)) else _archived(members, zipfile.ZIP_STORED)


def _archived(members: dict[str, bytes], way: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", way) as file:
        for name, data in members.items():
            file.writestr(zipfile.ZipInfo(name, _MOMENT), data, compress_type=way)
    return made.getvalue()


def _arrays(value: object) -> int:
    """How many different arrays a description refers to."""
    found, left = set[object](), [value]
    while left:
        match left.pop():
            case {"array": place, "objects": _}:
                found.add(place)
            case dict() as parts:
                left += parts.values()
            case list() as parts:
                left += parts
    return len(found)


def from_bytes(data: bytes, model: Model) -> Model:
    """Read back what `to_bytes` wrote, into an estimator of the same kind."""
    try:
        file = Archive(data, known=lambda name: name == "model.json" or bool(_ARRAY.fullmatch(name)))
        text = file.json("model.json")
        arrays = _read_arrays(file, _arrays(text["learned"]))
        same = text["version"] == VERSION and text["model"] == type(model).__name__
        learned = _read(text["learned"], arrays)
    except Exception:  # a damaged file fails in as many ways as there are readers
        raise ParameterError("this is not a stored model") from None
    if not same:
        raise ParameterError(f"this is no stored {type(model).__name__} of version {VERSION}")
    if not _fitted(learned):
        raise ParameterError("this is not a stored model")
    try:
        model._relearn(learned)
    except Exception as error:
        model._forget()
        if isinstance(error, DiscreetError | ImportError):  # it says what is wrong with the settings or missing
            raise
        raise ParameterError("this is not a stored model") from None
    return model


def _read_arrays(file: Archive, count: int) -> list[npt.NDArray[Any]]:
    """So many of them, and refused before any is read where there are others: a surplus one belongs to nobody."""
    if file.names != {"model.json"} | {f"{place}.npy" for place in range(count)}:
        raise ValueError("arrays that nothing refers to")
    return [file.array(f"{place}.npy") for place in range(count)]


def _fitted(learned: object) -> bool:
    """Whether it is what a fit leaves: fitted attributes by their names, a promise among them."""
    named_so = isinstance(learned, dict) and all(
        isinstance(name, str) and name.endswith("_") and not name.startswith("_") for name in learned
    )
    return named_so and isinstance(learned.get("guarantee_"), Guarantee)  # type: ignore[union-attr]


def save(model: PrivateEstimator, path: str | Path) -> None:
    """Write a fitted model with its parameters, to be read back by `load`."""
    settings = {}
    for name, value in model.get_params(deep=False).items():
        if name not in ("budget", "domain", *model.watching):  # those of the fit are part of what was learned
            if not _plain(value):
                raise UnsupportedError(f"a model with {name} of type {type(value).__name__} cannot be stored")
            settings[name] = value
    head = json.dumps({"discreet": type(model).__name__, "settings": settings}).encode()
    Path(path).write_bytes(head + b"\n" + to_bytes(model))


def load(path: str | Path) -> PrivateEstimator:
    """Read back what `save` wrote.

    >>> import tempfile
    >>> load(tempfile.mkstemp()[1])
    Traceback (most recent call last):
    discreet.errors.ParameterError: this is not a stored model
    """
    head, _, data = Path(path).read_bytes().partition(b"\n")
    try:
        text = read_text(head)
        made = named(text["discreet"])(**text["settings"])
    except Exception:  # a damaged file fails in as many ways as there are readers
        raise ParameterError("this is not a stored model") from None
    return from_bytes(data, made)


def named(name: str) -> type[PrivateEstimator]:
    """The estimator of this name."""
    from discreet import learning
    from discreet.learning.estimator import PrivateEstimator

    kind = getattr(learning, name, None)
    if not (isinstance(kind, type) and issubclass(kind, PrivateEstimator)):
        raise ParameterError(f"need an estimator among {', '.join(estimators())}, got {name!r}")
    return kind


def estimators() -> list[str]:
    """The names of all estimators."""
    from discreet import learning
    from discreet.learning.estimator import PrivateEstimator

    found = ((name, getattr(learning, name)) for name in dir(learning))
    return sorted(name for name, kind in found if isinstance(kind, type) and issubclass(kind, PrivateEstimator))


def _plain(value: object) -> bool:
    """Whether JSON gives it back, lists for tuples."""
    if isinstance(value, list | tuple):
        return all(_plain(one) for one in value)
    return value is None or isinstance(value, bool | int | float | str)


def _array_bytes(array: Any) -> bytes:  # noqa: ANN401 - an array of numbers or text
    import numpy as np

    made = io.BytesIO()
    np.save(made, np.ascontiguousarray(array), allow_pickle=False)
    return made.getvalue()


def _written(value: Any, arrays: list[Any]) -> Any:  # noqa: ANN401 - any value of those listed above
    import numpy as np

    match value:
        case None | bool() | int() | float() | str():
            return value
        case Fraction():
            return {"fraction": str(value)}
        case np.generic():
            return value.item()
        case np.ndarray():
            texts = value.dtype.kind == "O"
            if texts and not all(isinstance(one, str) for one in value.ravel()):
                raise UnsupportedError("an array of objects cannot be stored")
            if not texts and value.dtype.kind not in _NUMBERS + _TEXTS:
                raise UnsupportedError(f"an array of {value.dtype} cannot be stored")
            arrays.append(value.astype(str) if texts else value)
            return {"array": len(arrays) - 1, "objects": texts}
        case list():
            return [_written(one, arrays) for one in value]
        case tuple():
            return {"tuple": [_written(one, arrays) for one in value]}
        case dict():
            return {"dict": [[_written(key, arrays), _written(one, arrays)] for key, one in value.items()]}
        case Domain():
            return {"domain": [[name, declared.to_dict()] for name, declared in value.items()]}
        case Column():
            return {"column": value.to_dict()}
        case Event():
            return {"event": value.to_dict()}
        case Guarantee() if type(value).__name__ in _CURRENCIES:
            amounts = _amounts(value)
            written = {name: str(one) for name, one in amounts.items()}
            return {"guarantee": type(value).__name__, "amounts": written, "labels": value.neighbours is Local}
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith("discreet."):
        parts = {one.name: _written(getattr(value, one.name), arrays) for one in dataclasses.fields(value) if one.init}
        return {"made": f"{type(value).__module__}:{type(value).__qualname__}", "parts": parts}
    raise UnsupportedError(f"a fitted {type(value).__name__} cannot be stored")


def _amounts(value: Guarantee) -> dict[str, Fraction]:
    from discreet.privacy.number import exact

    if isinstance(value, GaussianDP):
        return {"square": value.square}
    names = {PureDP: ("epsilon",), ApproxDP: ("epsilon", "delta"), ZCDP: ("rho",)}[type(value)]
    return {name: exact(getattr(value, name)) for name in names}


def _read(value: Any, arrays: list[Any]) -> Any:  # noqa: ANN401 - what `_written` made
    match value:
        case list():
            return [_read(one, arrays) for one in value]
        case {"fraction": text}:
            return Fraction(text)
        case {"array": place, "objects": texts}:
            return arrays[place].astype(object) if texts else arrays[place]
        case {"tuple": parts}:
            return tuple(_read(one, arrays) for one in parts)
        case {"dict": parts}:
            return {_read(key, arrays): _read(one, arrays) for key, one in parts}
        case {"domain": columns}:
            return Domain({name: read_column(declared) for name, declared in columns})
        case {"column": declared}:
            return read_column(declared)
        case {"event": record}:
            return read_event(record)
        case {"guarantee": name, "amounts": amounts, "labels": bool() as labels}:
            numbers, relation = {key: Fraction(text) for key, text in amounts.items()}, Local if labels else AddRemove
            if name == "GaussianDP":
                return GaussianDP.from_square(numbers["square"], neighbours=relation)
            return _CURRENCIES[name](**numbers, neighbours=relation)
        case {"made": path, "parts": parts}:
            return _rebuilt(path, {name: _read(one, arrays) for name, one in parts.items()})
        case None | bool() | int() | float() | str():
            return value
    raise ValueError("unknown value")


def _rebuilt(path: str, parts: dict[str, Any]) -> object:
    """A dataclass of this package, by its own constructor."""
    module, _, name = path.partition(":")
    if not module.startswith("discreet.learning.") and not module.startswith("discreet.release."):
        raise ValueError("not a class of a model")
    kind = getattr(importlib.import_module(module), name)
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise ValueError("not a class of a model")
    return kind(**parts)
