"""A distribution over a domain, kept dense, as a product of blocks or as a graphical model."""

from discreet.release.models.base import Model as Model
from discreet.release.models.dense import DenseModel as DenseModel
from discreet.release.models.estimate import Estimate as Estimate
from discreet.release.models.estimate import Measurement as Measurement
from discreet.release.models.estimate import estimate as estimate
from discreet.release.models.graphical import GraphicalModel as GraphicalModel
from discreet.release.models.junction import junction_size as junction_size
from discreet.release.models.product import ProductModel as ProductModel
