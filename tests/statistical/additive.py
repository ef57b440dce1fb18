"""The mechanisms that add integer noise to integers."""

from discreet.mechanisms import Laplace

ADDITIVE = [
    Laplace(epsilon=1, sensitivity=1),
    Laplace(epsilon="1/50", sensitivity=3),
    Laplace(epsilon=4, sensitivity=1),
]
