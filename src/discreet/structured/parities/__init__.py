"""Parities of few attributes, projected on what rows can have."""
