#!/usr/bin/env bash
# The main job, from nothing: sets everything up, starts ZooKeeper and a broker, sends all flights out of New York
# in 2013 through them and compares every record that comes back. Leaves no process behind.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

"$here/setup.sh" embedded quickstart
exec "$here/../.venv/bin/python" "$here/quickstart.py" "$@"
