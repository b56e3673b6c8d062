#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the autograder's image.
set -euo pipefail
cd /autograder/source/convlab
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends build-essential make bubblewrap
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    apt-get install -y -q --no-install-recommends python3-venv python3-dev
else
    apt-get install -y -q --no-install-recommends python3.11-venv python3.11-dev
    ln -sf /usr/bin/python3.11 /usr/local/bin/python3
fi
make doctor # makes .venv
