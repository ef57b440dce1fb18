"""What is promised: neighbours, guarantees, events, profiles and exact verification."""

from discreet.privacy.guarantee import ApproxDP as ApproxDP
from discreet.privacy.guarantee import GaussianDP as GaussianDP
from discreet.privacy.guarantee import Guarantee as Guarantee
from discreet.privacy.guarantee import PureDP as PureDP
from discreet.privacy.guarantee import RenyiDP as RenyiDP
from discreet.privacy.guarantee import ZCDP as ZCDP
from discreet.privacy.neighbours import AddRemove as AddRemove
from discreet.privacy.neighbours import EdgeNeighbours as EdgeNeighbours
from discreet.privacy.neighbours import Local as Local
from discreet.privacy.neighbours import NodeNeighbours as NodeNeighbours
from discreet.privacy.neighbours import NullRow as NullRow
from discreet.privacy.neighbours import Replace as Replace
