"""A distribution over a domain, kept dense, as a product of blocks or as a graphical model."""

from discreet.release.models.base import Model as Model
from discreet.release.models.dense import DenseModel as DenseModel
