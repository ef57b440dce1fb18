#!/usr/bin/env bash
# What the tests talk to: PostgreSQL's server, a Java runtime for Spark, strace, a browser, and PyTorch.
# Installs what is missing from the system's packages where it may (Debian or Ubuntu, as root); otherwise says what is missing.
set -euo pipefail

has_postgres() { type -P postgres || ls -d /usr/lib/postgresql/*/bin/postgres; }
has_java() { type -P java || [ -x "${JAVA_HOME:-/nonexistent}/bin/java" ]; }
has_strace() { type -P strace; }
has_browser() { type -P chromium || type -P chromium-browser || type -P google-chrome; }

missing() { # the packages of the programs that are not there
    has_postgres >/dev/null 2>&1 || echo postgresql
    has_java >/dev/null 2>&1 || echo openjdk-17-jre-headless
    has_strace >/dev/null 2>&1 || echo strace
    has_browser >/dev/null 2>&1 || echo chromium
}

# PyTorch checks the array code.  Its wheels differ between indexes (with and without GPU libraries), so no lock holds it.
python="$(dirname "$0")/../.venv/bin/python"
if [ -x "$python" ] && ! "$python" -c 'import torch' 2>/dev/null; then
    echo "installing PyTorch for the tests of the array code"
    if ! "$python" -m pip install --quiet torch==2.13.0; then
        echo "MISSING: PyTorch could not be installed; the tests of neural networks and of array code need it." >&2
        echo "Install it, for example:  $python -m pip install torch==2.13.0" >&2
        exit 1
    fi
fi

packages=$(missing)
[ -n "$packages" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing" $packages
    export DEBIAN_FRONTEND=noninteractive
    # The package would otherwise start a server of its own; the tests start theirs.
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        mkdir -p /etc/postgresql-common
        echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    fi
    install() {
        apt-get install --yes --quiet=2 --no-install-recommends -o Dpkg::Options::=--force-confold "$@" </dev/null >/dev/null
    }
    if ! install $packages 2>/dev/null; then # no lists yet, old lists, or a release with another Java
        apt-get update --quiet=2 </dev/null >/dev/null || true
        for package in $packages; do
            install "$package" || { [ "$package" = openjdk-17-jre-headless ] && install default-jre-headless; } || true
        done
    fi
fi

packages=$(missing)
if [ -n "$packages" ]; then
    {
        echo "MISSING: the tests of PostgreSQL, Spark, the console and the fault campaign will FAIL without these packages:"
        echo "   " $packages
        echo "Install them as root, for example:  apt-get install" $packages
    } >&2
    exit 1
fi
