"""Fingerprinting codes: copies marked so that a mixture of them names one of those who mixed."""

from discreet.attacks.codes.boneh_shaw import BonehShaw as BonehShaw
from discreet.attacks.codes.boneh_shaw import boneh_shaw as boneh_shaw
from discreet.attacks.codes.pirates import PIRATES as PIRATES
from discreet.attacks.codes.pirates import mixed as mixed
from discreet.attacks.codes.tardos import Tardos as Tardos
from discreet.attacks.codes.tardos import tardos as tardos
from discreet.attacks.codes.tardos_length import TardosLength as TardosLength
from discreet.attacks.codes.tardos_length import tardos_length as tardos_length
from discreet.attacks.codes.trace_means import Tracing as Tracing
from discreet.attacks.codes.trace_means import trace_means as trace_means
from discreet.attacks.codes.trace_means import tracing_power as tracing_power
