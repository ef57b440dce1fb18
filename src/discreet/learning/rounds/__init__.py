"""Rounds of integer sums: what linear models and components ask of a table whose rows stay in its engine."""
