#!/usr/bin/env bash
# The attack lab: the same secrets behind a naive system and behind discreet.
set -euo pipefail
mkdir -p out/attack && cd out/attack

# --8<-- [start:attack]
discreet attack reconstruct --rows 200 --queries 800 --noise 1.5 --plot reconstruct.svg
discreet attack trace --users 40 --pirates 5 --strategy majority --plot trace.svg
# --8<-- [end:attack]
