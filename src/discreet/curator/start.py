"""The first curator.toml for a file: column names and types from its schema, bounds left blank.

Only the schema is read.  Row counts, statistics in a Parquet footer and values are not: what is
declared must come from public knowledge.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.curator.config import write
from discreet.data.domain import Domain, missing
from discreet.errors import DomainError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa


def start(
    source: Path,
    *,
    unit: str | None,
    budget: Mapping[str, str | None],
    declaration: Path | None,
    bounds: Mapping[str, int],
    out: Path,
    force: bool,
) -> int:
    """Write the file; returns how many blanks are left to fill in."""
    if out.exists() and not force:
        raise ParameterError(f"{out} exists; --force replaces it")
    if not source.exists():
        raise DomainError(f"no file {source}")
    columns = _declared(declaration) if declaration is not None else _blank(source, unit)
    if unit is not None and unit not in columns:
        raise DomainError(missing(unit, list(columns), what="column"))
    try:
        where = str(source.resolve().relative_to(out.resolve().parent))
    except ValueError:
        where = str(source.resolve())
    entry: dict[str, object] = {"source": where}
    if unit is not None:
        entry |= {"unit": unit, **bounds}
    settings = {
        "ledger": f"{out.stem}-ledger.db",
        "budget": {name: amount for name, amount in budget.items() if amount is not None},
        "tables": {source.stem.replace("-", "_"): {**entry, "columns": columns}},
    }
    out.write_text(write(settings), encoding="utf-8")
    return sum(value in ("", []) for declared in columns.values() for value in declared.values())


def _declared(path: Path) -> dict[str, dict[str, object]]:
    """The columns of a declaration file: either at its top or under [columns]."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, tomllib.TOMLDecodeError) as error:
        raise ParameterError(f"cannot read the declaration {path}: {error}") from None
    columns = found.get("columns", found)
    return Domain.from_dict(columns).to_dict()


def _blank(source: Path, unit: str | None) -> dict[str, dict[str, object]]:
    """Names and types of the columns, with blanks where only the steward knows."""
    return {
        field.name: {"type": "identifier"} if field.name == unit else _guess(field.type) for field in _schema(source)
    }


def _schema(source: Path) -> pa.Schema:
    if source.suffix.lower() == ".csv":
        import pyarrow as pa

        with source.open(encoding="utf-8") as lines:
            names = lines.readline().rstrip("\r\n").split(",")
        return pa.schema([(name.strip('"'), pa.string()) for name in names])
    import pyarrow.parquet as pq

    return pq.read_schema(source)


def _guess(kind: pa.DataType) -> dict[str, object]:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return {"type": "boolean"}
    if pa.types.is_integer(kind):
        return {"type": "integer", "low": "", "high": ""}
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return {"type": "real", "low": "", "high": ""}
    if pa.types.is_date(kind):
        return {"type": "date", "low": "", "high": ""}
    if pa.types.is_timestamp(kind):
        return {"type": "timestamp", "low": "", "high": "", "step": 3600}
    return {"type": "categorical", "values": []}
