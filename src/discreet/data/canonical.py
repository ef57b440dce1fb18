"""Canonical bytes of public values: what every key is made of, so that an answer is found again and no other is.

Theorem.  `canonical` is injective up to what a setting means: two values have the same bytes only if they are of one
kind and equal, part by part.  The bytes depend on the value alone: on no address, no process, no order of a mapping, no
module path, and no length at which something is printed.  Proof, by induction: docs/theory/keys.md.

    value         one letter for its kind, the length of its body in eight bytes, its body
    numbers       the rational that they print, so that 1, 1.0 and Fraction(1) are one setting; truth values are others
    sequences     the values one after another, lists and tuples alike; mappings and sets sorted by their keys' bytes
    arrays        type, shape and all bytes
    our values    the name of the class without its module, and every parameter; workloads as they are stored
    others        data classes and estimators of a module that can be imported: with its name, and every parameter

What has none is refused: a function may do anything, and a class made in a function, a script or a notebook may be
another one tomorrow.  An order with such a part has no key, and is never answered from what was kept.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from discreet.errors import UnsupportedError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import exact

ROOMS = (
    "privacy",
    "composition",
    "mechanisms",
    "data",
    "queries",
    "release",
    "structured",
    "synthesis",
    "learning",
    "planning",
)
# Names that two classes of these rooms have, with the module of the one that is meant, if any: a name is one class.
SHARED = dict.fromkeys(
    ("Block", "Cells", "Descent", "LaplaceSums", "Measured", "Part", "Plan", "Point", "Prediction", "Settings", "State",
     "Table", "Truth", "Whole", "Written"), ""
) | {
    "Conjunction": "discreet.learning.pac.boolean_classes",
    "Parity": "discreet.learning.pac.boolean_classes",
    "Prefixes": "discreet.planning.builtin",
    "Threshold": "discreet.learning.pac.hypotheses",
}  # fmt: skip


def digest(*parts: object) -> str:
    """A key of these parts: the hash of their canonical bytes.

    >>> digest("release", 1) == digest("release", 1.0), digest("a", "bc") == digest("ab", "c")
    (True, False)
    """
    return hashlib.sha256(canonical(parts)).hexdigest()


def digest_or_none(*parts: object) -> str | None:
    """A key of these parts; None where one of them has no canonical bytes."""
    try:
        return digest(*parts)
    except UnsupportedError:
        return None


def canonical(value: object) -> bytes:
    """The bytes of a value; refused where it has none.

    >>> canonical({"b": 2, "a": [True]}) == canonical({"a": (True,), "b": Fraction(2)})
    True
    >>> canonical(lambda: 1)
    Traceback (most recent call last):
    discreet.errors.UnsupportedError: no key can be made of a function: what it does is not written in it
    """
    match value:
        case None:
            return _tagged(b"N", b"")
        case bool():
            return _tagged(b"B", b"1" if value else b"0")
        case int():
            return _tagged(b"R", b"%d/1" % value)
        case float() if value != value or value in (float("inf"), float("-inf")):
            return _tagged(b"F", str(value).encode())
        case float() | Fraction() | Decimal():
            found = exact(value)
            return _tagged(b"R", b"%d/%d" % (found.numerator, found.denominator))
        case str():
            return _tagged(b"S", value.encode(errors="surrogatepass"))
        case bytes():
            return _tagged(b"Y", value)
        case PurePath():
            return _tagged(b"P", value.as_posix().encode(errors="surrogateescape"))
        case dt.datetime() | dt.date() | dt.time():
            return _tagged(b"D", type(value).__name__.encode() + b" " + value.isoformat().encode())
        case dt.timedelta():
            return _tagged(b"T", b"%d %d %d" % (value.days, value.seconds, value.microseconds))
        case list() | tuple():
            return _tagged(b"L", _join(value))
        case AbstractSet():
            return _tagged(b"X", b"".join(sorted(map(canonical, value))))
        case range():
            return _tagged(b"G", _join([value.start, value.stop, value.step]))
        case type():
            return _tagged(b"C", (value.__name__ if issubclass(value, Neighbours) else _name(value)).encode())
        case _:
            return _object(value)


def _object(value: object) -> bytes:
    """A mapping, an array, or a value of our own."""
    array: Any = value
    kind, room = type(value), type(value).__module__.split(".")
    if room[0] == "discreet":
        return _own(value)
    if isinstance(value, Mapping):
        pairs = sorted((canonical(key), canonical(one)) for key, one in value.items())
        return _tagged(b"M", b"".join(key + one for key, one in pairs))
    if room[0] == "scipy" and hasattr(array, "tocsr"):
        rows = array.tocsr().copy()
        rows.sum_duplicates()
        return _tagged(b"Z", _join([list(rows.shape), rows.data, rows.indices, rows.indptr]))
    if room[0] == "numpy" and hasattr(array, "dtype"):
        if array.shape == () and type(array.item()) in (bool, int, float, str, bytes):
            return canonical(array.item())
        if array.dtype.hasobject:
            return _tagged(b"O", _join([list(array.shape), *array.ravel().tolist()]))
        plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return _tagged(b"A", _join([plain.dtype.str, list(plain.shape), plain.tobytes(order="C")]))
    if is_dataclass(value) or callable(getattr(value, "get_params", None)):
        return _own(value)
    what = "a function: what it does is not written in it" if kind.__name__ == "function" else f"a {kind.__name__}"
    raise UnsupportedError(f"no key can be made of {what}")


def _own(value: Any) -> bytes:  # noqa: ANN401 - any value of a class
    """Every parameter of a value, under the name of its class; what can be stored, as it is stored."""
    ours, given = _ours(type(value)), {}
    if callable(getattr(value, "get_params", None)):
        watching = getattr(value, "watching", ())
        given = {one: part for one, part in value.get_params(deep=False).items() if one not in watching}
    elif ours and callable(getattr(value, "to_dict", None)) and not is_dataclass(value):
        return _tagged(b"W", json.dumps(value.to_dict()).encode())  # its type is in it, and its columns are in order
    elif is_dataclass(value):
        given = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        if not ours and set(getattr(value, "__dict__", ())) - set(given):
            raise UnsupportedError(f"no key can be made of a {type(value).__name__}: it has more than its fields")
    else:
        raise UnsupportedError(f"no key can be made of a {type(value).__name__}")
    if issubclass(type(value), Guarantee):  # its numbers may be written in several ways
        given = {name: _number(part) for name, part in given.items()}
    return _tagged(b"V", _join([_name(type(value)), given]))


def _number(value: object) -> object:
    return exact(value) if isinstance(value, (str, int, float, Fraction, Decimal)) else value


def _ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "discreet"


def _name(kind: type) -> str:
    """A class of our own by its name, which no other one has: it may move; of others one that a module gives a name."""
    name, module = kind.__qualname__, kind.__module__
    if _ours(kind):
        room = module.split(".")[1:2]
        good = bool(room) and room[0] in ROOMS and SHARED.get(name, module) == module
    else:
        good = module != "__main__"  # where a name may be given again, to something else
        name = f"{module}:{name}"
    if not good or "<" in name:
        raise UnsupportedError(f"no key can be made of a {kind.__name__}: its name does not say what it is")
    return name


def _join(parts: Iterable[object]) -> bytes:
    return b"".join(map(canonical, parts))


def _tagged(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(8, "big") + body
