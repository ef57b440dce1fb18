"""Question, plan, spend, read, mechanism, answer."""

from discreet.curator.answer import Answer as Answer
from discreet.curator.curator import Curator as Curator
