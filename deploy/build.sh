#!/bin/sh
# Install neardup with its service into a folder of its own: build.sh SOURCE TARGET
#
# The image is made by this, and so can a machine be that runs the service under systemd.
#
# PIP_OPTIONS, VENV_OPTIONS: further words for pip and venv, for places without a network.
set -eu

source=$1
target=$2
here=$(dirname "$0")
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT

# shellcheck disable=SC2086  # the options are words
{
    "${PYTHON:-python3}" -m venv ${VENV_OPTIONS:-} "$target"
    "$target/bin/python" -m pip wheel --no-cache-dir --no-deps ${PIP_OPTIONS:-} \
        --wheel-dir "$wheels" "$source"
    for wheel in "$wheels"/*.whl; do
        "$target/bin/python" -m pip install --no-cache-dir ${PIP_OPTIONS:-} "neardup[server] @ file://$wheel"
    done
}
install -m 755 "$here/start.sh" "$target/bin/neardup-start"
