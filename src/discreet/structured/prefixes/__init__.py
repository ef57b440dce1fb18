"""Prefixes and ranges of an ordered column."""
