"""Which mechanism for this workload, n and budget: predicted error, cost and lower bound."""

from discreet.planning.candidate import Candidate as Candidate
from discreet.planning.candidate import Cost as Cost
from discreet.planning.candidate import candidates as candidates
from discreet.planning.candidate import register as register
from discreet.planning.candidate import unregister as unregister
from discreet.planning.plan import Plan as Plan
from discreet.planning.plan import plan as plan
from discreet.planning.predict import Prediction as Prediction
