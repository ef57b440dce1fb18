"""Synthetic data: models of a table, fitted under a budget, and rows drawn from them."""

from discreet.synthesis.synthesizer import Synthesizer as Synthesizer
from discreet.synthesis.synthetic import Synthetic as Synthetic
