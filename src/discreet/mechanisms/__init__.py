"""One value in, one private value out, each mechanism beside its theorem."""

from discreet.mechanisms.base import Mechanism as Mechanism
from discreet.mechanisms.bounded_laplace import BoundedLaplace as BoundedLaplace
from discreet.mechanisms.exponential import Exponential as Exponential
from discreet.mechanisms.gaussian import Gaussian as Gaussian
from discreet.mechanisms.gaussian_sigma import analytic_sigma as analytic_sigma
from discreet.mechanisms.gaussian_sigma import classical_sigma as classical_sigma
from discreet.mechanisms.laplace import Laplace as Laplace
from discreet.mechanisms.noisy_max import NoisyMax as NoisyMax
from discreet.mechanisms.on_lattice import OnLattice as OnLattice
from discreet.mechanisms.partition_selection import PartitionSelection as PartitionSelection
from discreet.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
from discreet.mechanisms.sparse_vector import NumericSparse as NumericSparse
from discreet.mechanisms.sparse_vector import SparseVector as SparseVector
from discreet.mechanisms.staircase import Staircase as Staircase
from discreet.mechanisms.thresholded import Thresholded as Thresholded
from discreet.mechanisms.truncated_laplace import TruncatedLaplace as TruncatedLaplace
