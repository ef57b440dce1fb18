#!/usr/bin/env bash
# Resolve the extras of pyproject.toml into requirements/*.lock: every package, one version, the hashes of its files.
# The locks name no package index: pip uses the one it is configured with.  Takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

.venv/bin/python -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet pip-tools

compile() {
    "$work/tools/bin/pip-compile" --quiet --strip-extras --allow-unsafe --generate-hashes \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options --no-annotate --no-header "$@"
}

# Comments, options, blank lines and this package itself go: what is left is names, versions and hashes.
bare() { grep -Ev '^[[:space:]]*(#|--(index|extra-index|find-links|trusted)|discreet @|$)' "$1"; }

compile --extra dev --output-file "$work/dev" pyproject.toml
compile --extra dev --extra bench --constraint "$work/dev" --output-file "$work/all" pyproject.toml
# What is deployed is what was tested: the same versions and hashes, and fewer packages.
compile --extra service --extra postgres --extra plot --constraint "$work/dev" --output-file "$work/service" pyproject.toml
echo hatchling >"$work/build.in"  # as [build-system] of pyproject.toml
compile --constraint "$work/dev" --output-file "$work/build" "$work/build.in"

{
    echo '# Every package `make setup` installs, with the hashes of its files.'
    echo '# Made by scripts/lock.sh; do not edit.'
    bare "$work/dev"
} >requirements/dev.lock

{
    echo '# What `make bench` installs on top of dev.lock: the peers it measures against.'
    echo '# Made by scripts/lock.sh; do not edit.'
    # A package is a line that begins with its name; its hashes follow it.
    bare "$work/all" | awk -v dev="$work/dev" '
        BEGIN { while ((getline line < dev) > 0) if (line ~ /^[a-z0-9]/) { split(line, part, "=="); held[part[1]] } }
        /^[a-z0-9]/ { split($0, part, "=="); keep = !(part[1] in held) }
        keep'
} >requirements/bench.lock

{
    echo '# What the service runs with, a subset of dev.lock: `discreet[service,postgres,plot]` and what that needs.'
    echo '# Made by scripts/lock.sh; do not edit.'
    bare "$work/service"
} >requirements/service.lock

{
    echo '# What builds the wheel of the package, a subset of dev.lock.'
    echo '# Made by scripts/lock.sh; do not edit.'
    bare "$work/build"
} >requirements/build.lock
