"""What an adversary would learn: attacks, codes, and audits of claims."""

from discreet.attacks import broken as broken
from discreet.attacks.accuracy import Accuracy as Accuracy
from discreet.attacks.accuracy import measure_accuracy as measure_accuracy
from discreet.attacks.audit import Audit as Audit
from discreet.attacks.audit import audit as audit
from discreet.attacks.baselines import drop_identifiers as drop_identifiers
from discreet.attacks.baselines import suppress_small_counts as suppress_small_counts
from discreet.attacks.differencing import difference as difference
from discreet.attacks.differencing import difference_success as difference_success
from discreet.attacks.exact import ExactAudit as ExactAudit
from discreet.attacks.exact import audit_exact as audit_exact
from discreet.attacks.lab import Comparison as Comparison
from discreet.attacks.lab import compare_reconstruction as compare_reconstruction
from discreet.attacks.linkage import Match as Match
from discreet.attacks.linkage import Ratings as Ratings
from discreet.attacks.linkage import linkage as linkage
from discreet.attacks.linkage import unique as unique
from discreet.attacks.naive import Rounded as Rounded
from discreet.attacks.naive import Sticky as Sticky
from discreet.attacks.naive import Suppressed as Suppressed
from discreet.attacks.reconstruction import Reconstruction as Reconstruction
from discreet.attacks.reconstruction import all_subsets as all_subsets
from discreet.attacks.reconstruction import hadamard_subsets as hadamard_subsets
from discreet.attacks.reconstruction import random_subsets as random_subsets
from discreet.attacks.reconstruction import reconstruct as reconstruct
from discreet.attacks.reconstruction import reconstruction_bound as reconstruction_bound
