"""Everything that can be reached from an object: what somebody finds who is handed it and looks everywhere."""

from __future__ import annotations

import gc
import io
import pickle
import types

import numpy as np

from discreet.curator.curator import Curator
from discreet.curator.session import Session
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.postgres import Postgres
from discreet.data.graph import Graph
from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.data.table import Table
from discreet.learning import KNeighborsClassifier
from discreet.ledger import Ledger
from discreet.release.online_session import OnlineSession

HOLDERS = (Curator, Records, Histogram, Graph, Session, OnlineSession, KNeighborsClassifier, Ledger)  # exempt by name
ATOMS = (str, bytes, int, float, complex, bool, type(None))
WORLD = (type, types.ModuleType, types.CodeType, types.BuiltinFunctionType, DuckDB, Postgres)  # the same for everybody


def holds_rows(thing):
    """Whether a thing must hold rows to do its work, and so is no answer: it refuses to be pickled."""
    return isinstance(thing, HOLDERS) or (isinstance(thing, Table) and not thing.bare)


def _parts(thing, mine):
    """What one step leads to: attributes, slots, items, closures, frames, and whatever the collector knows of."""
    if isinstance(thing, dict | types.MappingProxyType):
        yield from thing.keys()
        yield from thing.values()
    if isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    if isinstance(thing, BaseException):
        yield from (
            thing.args,
            thing.__cause__,
            thing.__context__,
            getattr(thing, "__notes__", None),
            thing.__traceback__,
        )
        yield from vars(thing).values()
    if isinstance(thing, types.TracebackType):
        yield from (thing.tb_next, thing.tb_frame)
    if isinstance(thing, types.FrameType) and thing.f_globals.get("__name__", "").startswith("discreet"):
        yield from thing.f_locals.values()  # other frames are those of whoever called
    if isinstance(thing, types.FunctionType | types.MethodType | types.GeneratorType):
        function = getattr(thing, "__func__", thing)
        yield from [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _filled(cell)]
        yield getattr(function, "__defaults__", None)
        yield getattr(thing, "__self__", None)
        return
    if isinstance(thing, types.FrameType | types.TracebackType | BaseException):
        return
    if isinstance(thing, np.ndarray) and thing.dtype.hasobject:
        yield from thing.ravel().tolist()
    for kind in type(thing).__mro__:
        for slot in (
            (kind.__dict__.get("__slots__") or ()) if isinstance(kind.__dict__.get("__slots__"), tuple | list) else ()
        ):
            yield getattr(thing, slot, None)
    yield from getattr(thing, "__dict__", {}).values()
    if mine(thing):
        yield from gc.get_referents(thing)


def _filled(cell):
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def reach(*roots):
    """Every object that can be reached, with the way to it; what holds rows is not entered."""
    seen, found, todo = set(), [], [(root, ()) for root in roots]
    kept = []  # so that no identity is used twice

    def mine(thing):
        module = type(thing).__module__
        return not module.startswith(("sqlglot", "numpy", "builtins", "types"))

    while todo:
        thing, way = todo.pop()
        if id(thing) in seen or isinstance(thing, WORLD) or holds_rows(thing):
            continue
        seen.add(id(thing))
        kept.append(thing)
        found.append((thing, way))
        if not isinstance(thing, ATOMS):
            todo += [(part, (*way, type(thing).__name__)) for part in _parts(thing, mine)]
    return found


def shown(thing):
    """Every way in which a thing says what it is."""
    texts = [repr(thing), str(thing)]
    for name in ("_repr_html_", "to_dict", "__rich__", "statement"):
        one = getattr(thing, name, None)
        if callable(one):
            one = one()
        if name == "__rich__" and one is not None:
            from rich.console import Console

            console = Console(file=io.StringIO(), width=300)
            console.print(one)
            one = console.file.getvalue()
        texts.append(repr(one))
    return texts


def secrets_in(thing, planted):
    """Ways to planted values in what can be reached, shown or unpickled of a thing."""
    ways = []

    def look(value, way):
        if isinstance(value, str | bytes):
            text = value if isinstance(value, str) else value.decode("latin-1")
            ways.extend((secret, way) for secret in planted if isinstance(secret, str) and secret in text)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            ways.extend((secret, way) for secret in planted if not isinstance(secret, str) and secret == value)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.size:
            numbers = [secret for secret in planted if not isinstance(secret, str)]
            ways.extend((secret, way) for secret in numbers if np.isin(secret, value))
        elif type(value).__module__.startswith(("pyarrow", "pandas", "polars", "duckdb", "pyspark", "psycopg")):
            ways.extend((secret, way) for secret in planted if str(secret) in str(value))

    for value, way in reach(thing):
        look(value, way)
    if not isinstance(thing, BaseException) and not holds_rows(thing):
        for text in shown(thing):
            look(text, ("shown",))
    try:
        stored = pickle.dumps(thing)
    except Exception:  # what cannot be pickled says nothing so
        return ways
    look(stored, ("pickled",))
    return ways
