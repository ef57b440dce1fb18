"""Every public callable that takes rows, found by walking the public names: what must be checked at size."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator

ROOMS = (
    "discreet", "discreet.data", "discreet.learning", "discreet.release", "discreet.synthesis", "discreet.structured",
    "discreet.queries", "discreet.mechanisms", "discreet.attacks", "discreet.local", "discreet.curator",
    "discreet.composition", "discreet.bounds", "discreet.planning", "discreet.privacy", "discreet.hazmat",
)  # fmt: skip
NAMES = {
    "X", "bits", "counts", "data", "edges", "frame", "graph", "matrix", "private", "public_rows", "real", "reports",
    "rows", "source", "synthetic", "values", "x",
}  # fmt: skip
NO_ROWS = {"bool", "bytes", "float", "int", "int | None", "Number", "str", "str | None", "type", "Sequence[str | int]"}
TABLES = {"table": {"str", "Table"}, "question": {"str | Query | Builder", "str | Query | Builder | Workload"}}


def takes_rows(function: Callable[..., object]) -> bool:
    """Whether a parameter is called and annotated as rows are, or as the name of a table of them."""
    for name, parameter in inspect.signature(function).parameters.items():
        kind = str(parameter.annotation)
        if (name in NAMES and kind not in NO_ROWS) or kind in TABLES.get(name, set()):
            return True
    return False


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., object]]]:
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        found = getattr(found, "__func__", found)
        ours = inspect.isfunction(found) and found.__module__.startswith("discreet")
        if ours and (not name.startswith("_") or name in ("__call__", "__init__")):
            yield name, found


@functools.cache
def takers() -> dict[str, Callable[..., object]]:
    """By name, such as `learning.Ridge.predict`; a callable with several public names has the first."""
    found: dict[str, Callable[..., object]] = {}
    seen: set[int] = set()
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in dir(module):
            made = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(made) or id(made) in seen:
                continue
            if not getattr(made, "__module__", "").startswith("discreet"):
                continue
            seen.add(id(made))
            label = f"{room.rpartition('.')[2]}.{name}"
            if inspect.isclass(made):
                found |= {f"{label}.{method}": function for method, function in _methods(made)}
            elif inspect.isfunction(made):
                found[label] = made
    return {label: function for label, function in sorted(found.items()) if takes_rows(function)}
