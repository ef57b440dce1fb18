"""Reconstruction: from many answers that are a little wrong back to nearly all the secret bits."""

from discreet.attacks.reconstruction.bound import reconstruction_bound as reconstruction_bound
from discreet.attacks.reconstruction.reconstruct import Reconstruction as Reconstruction
from discreet.attacks.reconstruction.reconstruct import reconstruct as reconstruct
from discreet.attacks.reconstruction.subsets import all_subsets as all_subsets
from discreet.attacks.reconstruction.subsets import hadamard_subsets as hadamard_subsets
from discreet.attacks.reconstruction.subsets import random_subsets as random_subsets
