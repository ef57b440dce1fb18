"""Noise: entropy, exact samplers, lattices.  A slip here breaks privacy and looks fine.

Nothing outside this folder draws random numbers.  Read docs/theory/samplers.md before
changing anything, and have the change read by somebody else.
"""
