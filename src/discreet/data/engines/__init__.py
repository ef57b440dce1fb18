"""Engines that run aggregations: DuckDB here; the same plan in another dialect elsewhere."""
