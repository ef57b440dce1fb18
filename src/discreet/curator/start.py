"""The first curator.toml for a file: column names and types from its schema, bounds left blank.

Only the schema is read.  Row counts, statistics in a Parquet footer and values are not: what is
declared must come from public knowledge.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.curator.config import budget as read_budget
from discreet.curator.config import tables, write
from discreet.data.domain import Domain, missing
from discreet.data.engines.results import no_column
from discreet.data.engines.sealing import names
from discreet.data.text_file import TextFile, is_text
from discreet.errors import DomainError, ParameterError, require
from discreet.ledger import Ledger
from discreet.ledger.amount import amounts

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITED = (".csv", ".csv.gz", ".tsv", ".tsv.gz")  # with a header line


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
    schema = _schema(source)
    columns = _declared(declaration) if declaration is not None else _blank(schema, unit)
    for name in [*columns, *([] if unit is None else [unit])]:
        if name not in schema.names:
            raise no_column(name, () if is_text(str(source)) else schema.names)
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
        "tables": {Path(source.name.removesuffix(".gz")).stem.replace("-", "_"): {**entry, "columns": columns}},
    }
    text = write(settings)
    blanks = sum(value in ("", []) for declared in columns.values() for value in declared.values())
    _works(text, out.parent, filled=not blanks)
    out.write_text(text, encoding="utf-8")
    return blanks


def _works(text: str, folder: Path, *, filled: bool) -> None:
    """Open what will be written, on a ledger in memory: a file that can never be opened is not written."""
    settings = tomllib.loads(text)
    cap = read_budget(settings["budget"])
    require(amounts(cap)[0] > 0, "a cap above 0: nothing could ever be asked", cap=cap)
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="anybody", cap=cap)
    if filled:
        tables(settings, folder)


def _declared(path: Path) -> dict[str, dict[str, object]]:
    """The columns of a declaration file: either at its top or under [columns]."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ParameterError(f"cannot read the declaration {path}: it is not text") from None
    except OSError as error:
        raise ParameterError(f"cannot read the declaration {path}: {str(error.strerror).lower()}") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"cannot read the declaration {path}: {error}") from None
    columns = found.get("columns", found)
    return Domain.from_dict(columns).to_dict()


def _blank(schema: pa.Schema, unit: str | None) -> dict[str, dict[str, object]]:
    """Names and types of the columns, with blanks where only the steward knows."""
    return {field.name: {"type": "identifier"} if field.name == unit else _guess(field.type) for field in schema}


def _schema(source: Path) -> pa.Schema:
    """The names of the columns, and of a Parquet file their types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = source.name.lower()
    if not place.endswith((".parquet", ".pq", *DELIMITED)):
        raise DomainError(f"need a file that ends in .parquet, .pq, {', '.join(DELIMITED)}, got {source}")
    try:
        if place.endswith((".parquet", ".pq")):
            return pq.read_schema(source)
        return pa.schema([(name, pa.string()) for name in names(TextFile(str(source))) if name])
    except (pa.ArrowException, OSError, EOFError):
        kind = "Parquet" if place.endswith((".parquet", ".pq")) else "text"
        raise DomainError(f"{source} cannot be read: it is no {kind} file") from None


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
