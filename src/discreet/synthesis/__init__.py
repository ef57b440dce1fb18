"""Synthetic data: models of a table, fitted under a budget, and rows drawn from them."""

from discreet.synthesis.linked import LinkedSynthesizer as LinkedSynthesizer
from discreet.synthesis.linked_synthetic import LinkedSynthetic as LinkedSynthetic
from discreet.synthesis.quality import Quality as Quality
from discreet.synthesis.quality import quality as quality
from discreet.synthesis.report import Report as Report
from discreet.synthesis.synthesizer import Synthesizer as Synthesizer
from discreet.synthesis.synthetic import Synthetic as Synthetic
