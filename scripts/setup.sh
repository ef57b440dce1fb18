#!/usr/bin/env bash
# Make .venv with exactly the packages of requirements/dev.lock, and this package, editable, in it.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"

say() { printf '%s\n' "$@" >&2; exit 1; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; }

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    command -v "$python" >/dev/null || say "need Python 3.11 or newer, got no '$python'; try: make setup PYTHON=/path/to/python3.11"
    new_enough "$python" ||
        say "need Python 3.11 or newer, got $("$python" --version 2>&1) from '$python'" \
            "try: make setup PYTHON=/path/to/python3.11"
    "$python" -m venv --clear .venv ||
        say "'$python -m venv' failed." \
            "On Debian and Ubuntu the venv module is a package of its own: apt install python3-venv" \
            "Or name another interpreter: make setup PYTHON=/path/to/python3.11"
elif ! new_enough .venv/bin/python; then
    say "need Python 3.11 or newer, got $(.venv/bin/python --version) in .venv; remove .venv and call make setup again"
fi

echo "installing the locked packages into .venv"
.venv/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements/dev.lock
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
touch .venv/.ready
