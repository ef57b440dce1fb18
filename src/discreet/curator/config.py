"""A curator as a file, `curator.toml`: tables with their declarations, the budget, the ledger.

    ledger = "ledger.db"      # or, with a witness outside it, the section [ledger] below

    [budget]
    epsilon = "1"
    delta = "1e-6"            # or rho = "0.05" alone

    [tables.visits]
    source = "visits.parquet"
    unit = "patient"
    rows_per_unit = 10
    groups_per_unit = 3

    [tables.visits.columns]
    age = { type = "integer", low = 0, high = 119 }

    [tables.bills]
    source = "bills.csv"      # text is read once, into a copy beside the ledger, or in [sealed] place = "..."
    text = { separator = ";", encoding = "windows-1252" }     # also quote, header, columns, multiline

    [tables.regions]
    source = "postgresql:///hospital#regions"
    public = true             # nobody's rows, to be joined with private tables

    [ledger]
    place = "ledger.db"
    witness = "/mnt/elsewhere/ledger-witness.json"     # or postgresql://host/database#table

Paths are relative to the file.  A bound left blank ("") is refused until somebody who knows fills it in:
bounds are never read off the data.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.table import Table
from discreet.data.text_file import TextFile
from discreet.errors import ParameterError
from discreet.ledger import Ledger
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

_TABLE = {"source", "text", "unit", "rows_per_unit", "groups_per_unit", "n", "version", "public", "columns"}
_TEXT = {"separator", "quote", "encoding", "header", "columns", "multiline"}


def load(path: str | Path, *, verify: bool = True) -> Curator:
    """Open the curator that a file describes, with its whole ledger verified unless the caller does that."""
    from discreet.curator.curator import Curator

    file = Path(path)
    settings = read(file)
    declared, cap = tables(settings, file.parent), budget(settings.get("budget"))
    held = opened(settings, file.parent, verify=verify)
    return Curator(declared, budget=cap, ledger=held, sealed=copies(settings, file.parent))


def ledger(path: str | Path, *, verify: bool = True) -> Ledger:
    """Open the ledger that a curator's file names, and nothing else; it must be there."""
    file = Path(path)
    return opened(read(file), file.parent, create=False, verify=verify)


def opened(settings: Mapping[str, object], folder: Path, *, create: bool = True, verify: bool = True) -> Ledger:
    """The ledger of a curator's file, under its witness if it names one."""
    return Ledger.open(place(settings, folder), create=create, verify=verify, witness=witness(settings, folder))


def place(settings: Mapping[str, object], folder: Path) -> str:
    """Where the ledger is: a path or a URL."""
    return _within(_ledger(settings)["place"], folder)


def witness(settings: Mapping[str, object], folder: Path) -> str | None:
    """Where the ledger's witness is, a path or a URL, if it has one."""
    named = _ledger(settings).get("witness")
    return None if named is None else _within(named, folder)


def _ledger(settings: Mapping[str, object]) -> dict[str, str]:
    """The section [ledger]; the line `ledger = "ledger.db"` is one with a place alone."""
    match settings.get("ledger", "ledger.db"):
        case str(named) if named:
            return {"place": named}
        case {"place": str(named), **rest} if named and set(rest) <= {"witness"}:
            if "witness" in rest and not (isinstance(rest["witness"], str) and rest["witness"]):
                raise ParameterError("[ledger] witness needs to be a path, or postgresql://host/database#table")
            return {"place": named, **rest}
        case _:
            raise ParameterError('need ledger = "ledger.db", or [ledger] with place and, if you like, witness')


def _within(named: str, folder: Path) -> str:
    return named if "://" in named or named == ":memory:" else str(folder / named)


def read(file: Path) -> dict[str, object]:
    """The file as a dictionary."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError(
            f"no file {file}; make one with: discreet init DATA --unit COLUMN --epsilon 1 -o {file}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ParameterError(f"cannot read the curator's file {file}: {str(why).lower()}") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{file} is not TOML: {error}") from None


def budget(settings: object) -> Guarantee:
    """The cap: epsilon, epsilon and delta, or rho."""
    match settings:
        case {"epsilon": epsilon, "delta": delta, **rest} if not rest:
            return ApproxDP(epsilon, delta)
        case {"epsilon": epsilon, **rest} if not rest:
            return PureDP(epsilon)
        case {"rho": rho, **rest} if not rest:
            return ZCDP(rho)
        case _:
            raise ParameterError(
                'need [budget] with epsilon and delta, epsilon alone, or rho, for example epsilon = "1"'
            )


def tables(settings: Mapping[str, object], folder: Path) -> dict[str, Table]:
    """The declared tables."""
    declared = settings.get("tables")
    if not isinstance(declared, dict) or not declared:
        raise ParameterError("need at least one [tables.NAME]")
    return {name: _table(name, entry, folder) for name, entry in declared.items()}


def _table(name: str, entry: object, folder: Path) -> Table:
    if not isinstance(entry, dict):
        raise ParameterError(f"[tables.{name}] needs to be a section")
    unknown = sorted(set(entry) - _TABLE)
    if unknown:
        raise ParameterError(f"[tables.{name}] has no setting {unknown[0]!r}; there are {', '.join(sorted(_TABLE))}")
    for needed in ("source", "columns"):
        if needed not in entry:
            raise ParameterError(f"[tables.{name}] needs {needed}")
    domain = declaration(name, entry["columns"])
    source = str(entry["source"])
    where = source if Path(source).is_absolute() or "://" in source else str(folder / source)
    rest = {key: entry[key] for key in ("rows_per_unit", "groups_per_unit", "n", "version", "public") if key in entry}
    unit = entry.get("unit")
    read = _text(name, where, entry["text"]) if "text" in entry else where
    return Table(read, domain=domain, unit=None if unit is None else str(unit), **rest)


def _text(name: str, path: str, entry: object) -> TextFile:
    """How the text of a table is written, where it is not as usual."""
    if not isinstance(entry, dict) or not set(entry) <= _TEXT:
        raise ParameterError(f"[tables.{name}] text needs to be a section with settings of {', '.join(sorted(_TEXT))}")
    given = {**entry, "quote": None} if entry.get("quote") == "" else entry
    return TextFile(path, **given)


def copies(settings: Mapping[str, object], folder: Path) -> str | None:
    """The folder of the copies of text, where one is named."""
    match settings.get("sealed"):
        case None:
            return None
        case {"place": str(named), **rest} if named and not rest:
            return str(folder / named)
        case _:
            raise ParameterError('need [sealed] with a place, for example place = "sealed"')


def declaration(name: str, columns: object) -> Domain:
    """The domain of a table; blank bounds are named, so that they can be filled in."""
    if not isinstance(columns, dict):
        raise ParameterError(f"[tables.{name}.columns] needs a line for each column")
    for column, entry in columns.items():
        if not isinstance(entry, dict):
            raise ParameterError(f'[tables.{name}.columns] {column} needs a type, as in {{ type = "boolean" }}')
    blank = [
        f"{column}.{key}" for column, entry in columns.items() for key, value in entry.items() if value in ("", [])
    ]
    if blank:
        raise ParameterError(
            f"[tables.{name}.columns] has blanks to fill in from public knowledge, not from the data:"
            f" {', '.join(blank)}"
        )
    return Domain.from_dict(columns)


def write(settings: Mapping[str, object]) -> str:
    """The settings as TOML text; columns are inline, one a line."""
    lines = [f"{key} = {_inline(value)}" for key, value in settings.items() if key not in ("budget", "tables")]
    lines += ["", "[budget]", *(f"{k} = {_inline(v)}" for k, v in settings["budget"].items())]  # type: ignore[union-attr]
    for name, entry in settings["tables"].items():  # type: ignore[union-attr]
        lines += section(name, entry)
    return "\n".join(lines) + "\n"


def section(name: str, entry: Mapping[str, object]) -> list[str]:
    """The lines that declare one table."""
    columns = entry["columns"]
    assert isinstance(columns, Mapping)
    lines = ["", f"[tables.{_key(name)}]"]
    lines += [f"{key} = {_inline(value)}" for key, value in entry.items() if key != "columns"]
    lines += ["", f"[tables.{_key(name)}.columns]"]
    return lines + [f"{_key(column)} = {_inline(declared)}" for column, declared in columns.items()]


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _quoted(name)


def _quoted(text: str) -> str:
    """Text as TOML has it: as JSON, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _inline(value: object) -> str:
    match value:
        case dict():
            return "{ " + ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_inline, value)) + "]"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case _:
            return _quoted(str(value))
