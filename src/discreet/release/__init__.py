"""Many queries at once: release mechanisms over any finite universe, and the models they keep."""

from discreet.release.independent import IndependentNoise as IndependentNoise
from discreet.release.mwem import MWEM as MWEM
from discreet.release.release import Release as Release
