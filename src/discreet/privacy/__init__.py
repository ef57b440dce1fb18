"""What is promised: neighbours, guarantees, events, profiles and exact verification."""

from discreet.privacy import sensitivity as sensitivity
from discreet.privacy.deniability import Deniability as Deniability
from discreet.privacy.finite import FiniteMechanism as FiniteMechanism
from discreet.privacy.finite import Witness as Witness
from discreet.privacy.guarantee import ZCDP as ZCDP
from discreet.privacy.guarantee import ApproxDP as ApproxDP
from discreet.privacy.guarantee import GaussianDP as GaussianDP
from discreet.privacy.guarantee import Guarantee as Guarantee
from discreet.privacy.guarantee import PureDP as PureDP
from discreet.privacy.guarantee import RenyiDP as RenyiDP
from discreet.privacy.loss import PrivacyLoss as PrivacyLoss
from discreet.privacy.loss import privacy_loss as privacy_loss
from discreet.privacy.neighbours import AddRemove as AddRemove
from discreet.privacy.neighbours import EdgeNeighbours as EdgeNeighbours
from discreet.privacy.neighbours import Local as Local
from discreet.privacy.neighbours import NodeNeighbours as NodeNeighbours
from discreet.privacy.neighbours import NullRow as NullRow
from discreet.privacy.neighbours import Replace as Replace
from discreet.privacy.posterior import posterior as posterior
from discreet.privacy.posterior import statistical_distance as statistical_distance
