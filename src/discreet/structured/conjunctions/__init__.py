"""Conjunctions of few literals from the counts of fewer."""
