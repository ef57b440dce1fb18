"""Format 2: an account has a state (a retired table, a period that is over); PostgreSQL guards entries by triggers."""

from __future__ import annotations

_STATE = "ALTER TABLE balances ADD COLUMN state TEXT"
_GUARDED = (
    "CREATE OR REPLACE FUNCTION discreet_append_only() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'entries are append-only'; END $$",
    "CREATE OR REPLACE TRIGGER entries_change BEFORE UPDATE OR DELETE ON entries"
    " FOR EACH ROW EXECUTE FUNCTION discreet_append_only()",
    "CREATE OR REPLACE TRIGGER entries_truncate BEFORE TRUNCATE ON entries"
    " FOR EACH STATEMENT EXECUTE FUNCTION discreet_append_only()",
)

STATEMENTS = {"sqlite": (_STATE,), "postgresql": (_STATE, *_GUARDED)}
