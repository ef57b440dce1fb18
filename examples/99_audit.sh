#!/usr/bin/env bash
# Audit public mechanisms from the command line, and one of your own that lies about its price.
set -euo pipefail
mkdir -p out/audit && cd out/audit

# --8<-- [start:public]
discreet audit --only Laplace --samples 20000 --picture laplace.svg
discreet audit --only RandomizedResponse --samples 20000 --csv coins.csv
# --8<-- [end:public]

cat > office.py <<'PYTHON'
from discreet.mechanisms import Laplace
from discreet.privacy import PureDP


class Visits:
    inputs = (10, 12)

    def __call__(self, value, *, rng=None):
        return Laplace(epsilon=1, sensitivity=1)(value, rng=rng)

    def privacy(self):
        return PureDP(1)


visits = Visits()
PYTHON

# --8<-- [start:own]
discreet audit office:visits --samples 5000 || echo "exit code $?: do not release anything with this"
# --8<-- [end:own]
