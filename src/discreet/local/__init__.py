"""The local model: nobody is trusted, each user randomises at home."""

from discreet.local.choose import Candidate as Candidate
from discreet.local.choose import Choice as Choice
from discreet.local.choose import choose as choose
from discreet.local.duchi import DuchiVector as DuchiVector
from discreet.local.hadamard import HadamardResponse as HadamardResponse
from discreet.local.hashing import OptimalLocalHashing as OptimalLocalHashing
from discreet.local.laplace_mean import LaplaceMean as LaplaceMean
from discreet.local.one_bit import OneBitMean as OneBitMean
from discreet.local.piecewise import HybridMean as HybridMean
from discreet.local.piecewise import PiecewiseMean as PiecewiseMean
from discreet.local.privunit import PrivUnit as PrivUnit
from discreet.local.privunit import PrivUnitG as PrivUnitG
from discreet.local.projective import ProjectiveGeometryResponse as ProjectiveGeometryResponse
from discreet.local.protocol import Client as Client
from discreet.local.protocol import LocalProtocol as LocalProtocol
from discreet.local.protocol import Server as Server
from discreet.local.protocol import run as run
from discreet.local.randomized_response import RandomizedResponse as RandomizedResponse
from discreet.local.shuffle import Shuffler as Shuffler
from discreet.local.shuffle import central_delta as central_delta
from discreet.local.shuffle import shuffled as shuffled
from discreet.local.subset_selection import SubsetSelection as SubsetSelection
from discreet.local.unary import OptimalUnaryEncoding as OptimalUnaryEncoding
from discreet.local.unary import SymmetricUnaryEncoding as SymmetricUnaryEncoding
