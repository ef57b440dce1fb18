"""The mechanisms that add integer noise to integers, in whole arrays."""

from discreet.mechanisms import Gaussian, Laplace, TruncatedLaplace

ADDITIVE = [
    Laplace(epsilon=1, sensitivity=1),
    Laplace(epsilon="1/50", sensitivity=3),
    Laplace(epsilon=4, sensitivity=1),
    Gaussian(epsilon=1, delta=1e-3, sensitivity=1),
    Gaussian.with_sigma(20, sensitivity=1),
]
BOUNDED_NOISE = [TruncatedLaplace(epsilon=1, delta=1e-3, sensitivity=1)]  # its ends belong to one neighbour: delta
