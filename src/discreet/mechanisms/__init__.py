"""One value in, one private value out, each mechanism beside its theorem."""

from discreet.mechanisms.exponential import Exponential as Exponential
from discreet.mechanisms.laplace import Laplace as Laplace
from discreet.mechanisms.noisy_max import NoisyMax as NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from discreet.mechanisms.sparse_vector import NumericSparse as NumericSparse
from discreet.mechanisms.sparse_vector import SparseVector as SparseVector
