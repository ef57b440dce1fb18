"""Question, plan, spend, read, mechanism, answer."""

from discreet.curator.answer import Answer as Answer
from discreet.curator.clipping import ClippingBounds as ClippingBounds
from discreet.curator.curator import Curator as Curator
