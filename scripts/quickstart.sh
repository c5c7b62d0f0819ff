#!/usr/bin/env bash
# The main job, from nothing: sets everything up, starts ZooKeeper and a broker, sends all flights out of New York
# in 2013 through them and compares every record that comes back. Leaves no process behind.
#
#   scripts/quickstart.sh [--keep] [--plot FILE]
#
# --keep keeps the data and the logs, and prints where they are. The plot of the delays goes to FILE
# (default: data/flight-delays.png).
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

usage() { sed -n 's/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed -n '2,8p'; }

# Looked at before anything is installed; the job reads them again.
given=("$@")
while [ $# -gt 0 ]; do
  case "$1" in
    --keep | --plot=?*) shift ;;
    --plot)
      if [ $# -lt 2 ]; then
        usage >&2
        exit 2
      fi
      shift 2
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
done

"$here/setup.sh" embedded quickstart
exec "$here/../.venv/bin/python" "$here/quickstart.py" "${given[@]}"
