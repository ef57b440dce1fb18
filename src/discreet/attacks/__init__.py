"""What an adversary would learn: attacks, codes, and audits of claims."""

from discreet.attacks import broken as broken
from discreet.attacks.accuracy import Accuracy as Accuracy
from discreet.attacks.accuracy import measure_accuracy as measure_accuracy
from discreet.attacks.audit import Audit as Audit
from discreet.attacks.audit import audit as audit
from discreet.attacks.baselines import drop_identifiers as drop_identifiers
from discreet.attacks.baselines import suppress_small_counts as suppress_small_counts
from discreet.attacks.exact import ExactAudit as ExactAudit
from discreet.attacks.exact import audit_exact as audit_exact
