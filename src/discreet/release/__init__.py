"""Many queries at once: release mechanisms over any finite universe, and the models they keep."""

from discreet.release.boosted import BoostedQueries as BoostedQueries
from discreet.release.factorization import Factorization as Factorization
from discreet.release.gamma2 import Gamma2 as Gamma2
from discreet.release.gamma2 import gamma2 as gamma2
from discreet.release.gamma2_closed import gamma2_lower as gamma2_lower
from discreet.release.independent import IndependentNoise as IndependentNoise
from discreet.release.models.estimate import Estimate as Estimate
from discreet.release.models.estimate import Measurement as Measurement
from discreet.release.models.estimate import estimate as estimate
from discreet.release.models.graphical import GraphicalModel as GraphicalModel
from discreet.release.models.junction import junction_size as junction_size
from discreet.release.models.product import ProductModel as ProductModel
from discreet.release.mwem import MWEM as MWEM
from discreet.release.net import covering as covering
from discreet.release.net import multisets as multisets
from discreet.release.net import net_rows as net_rows
from discreet.release.online import PrivateMultiplicativeWeights as PrivateMultiplicativeWeights
from discreet.release.online_passes import OfflineWeights as OfflineWeights
from discreet.release.online_session import OnlineSession as OnlineSession
from discreet.release.online_suspended import Suspended as Suspended
from discreet.release.projection import LeastSquaresProjection as LeastSquaresProjection
from discreet.release.release import Release as Release
from discreet.release.small_database import SmallDatabase as SmallDatabase
