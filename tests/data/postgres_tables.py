"""Arrow tables in PostgreSQL, and typed columns of special values in both engines."""

from __future__ import annotations

from itertools import count

import psycopg

_NUMBERS = count(1)
KINDS = {
    "int8": "smallint", "int16": "smallint", "int32": "integer", "int64": "bigint", "uint64": "numeric(20,0)",
    "double": "double precision", "float": "real", "string": "text", "large_string": "text", "bool": "boolean",
    "date32[day]": "date", "timestamp[us]": "timestamp",
}  # fmt: skip


def stored(url, table, *, kinds=None):
    """An Arrow table as a new PostgreSQL table; returns its source."""
    name = f"frame_{next(_NUMBERS)}"
    types = {field.name: (kinds or {}).get(field.name) or KINDS[str(field.type)] for field in table.schema}
    with psycopg.connect(url) as connection:
        made = ", ".join(f'"{column}" {kind}' for column, kind in types.items())
        connection.execute(f"CREATE TABLE {name} ({made})")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row([row[column] for column in types])
    return f"{url}#{name}"
