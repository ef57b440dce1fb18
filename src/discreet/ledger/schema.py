"""The four tables of a ledger, in SQL that SQLite and PostgreSQL share.

    head       one row: the last entry, the format, and whether there is a witness; locked by whoever writes
    entries    the chain; never updated, never deleted
    balances   one row for each account: its cap, exact totals and state, updated with each entry
    answers    stored answers, each with the number of the entry that holds its digest

Everything but `entries` and the bytes of the answers follows from the entries, and is
checked against them by `verify`.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text

NUMBER = BigInteger().with_variant(Integer, "sqlite")  # there, every integer has 64 bits

metadata = MetaData()

head = Table(
    "head",
    metadata,
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    Column("id", NUMBER, nullable=False),
    Column("hash", Text, nullable=False),
    Column("witness", Text),  # "begun" while the ledger has one
)

entries = Table(
    "entries",
    metadata,
    Column("id", NUMBER, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("analyst", Text),
    Column("key", Text),
    Index("entries_by_key", "key", "analyst", "id"),
)

balances = Table(
    "balances",
    metadata,
    Column("unit", Text, primary_key=True),
    Column("scope", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("cap", Text),
    Column("rho_cap", Text),
    Column("epsilon", Text),
    Column("rho", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("state", Text),
    Index("balances_by_name", "scope", "name"),
)

answers = Table(
    "answers",
    metadata,
    Column("spend", NUMBER, primary_key=True, autoincrement=False),
    Column("record", NUMBER, nullable=False, unique=True),
    Column("bytes", LargeBinary, nullable=False),
)
