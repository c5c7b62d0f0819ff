#!/usr/bin/env bash
# Runs one module of kafka_zk.tools; the other scripts come here.
#
#   kafka-run.sh MODULE [ARGUMENT...]
#
# Takes the .venv beside this folder, else the Python whose package kafka_zk is installed. Works from any folder.
set -euo pipefail

home="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"

find_python() {
  local candidate
  if [ -x "$home/.venv/bin/python" ]; then
    python="$home/.venv/bin/python"
    return
  fi
  for candidate in "${PYTHON:-}" python3 python; do
    if [ -n "$candidate" ] && "$candidate" -P -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("kafka_zk"))' 2>/dev/null; then
      python="$candidate"
      return
    fi
  done
  echo "Cannot find kafka_zk: there is no $home/.venv, and no Python on the PATH has the package." >&2
  echo "Run $home/scripts/setup.sh: it installs the package into $home/.venv." >&2
  exit 1
}

if [ $# -eq 0 ]; then
  sed -n 's/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed -n '2,5p' >&2
  exit 2
fi
module="$1"
shift
find_python

# The same place as in Apache Kafka: logs/ beside the scripts. An installed copy may not be able to write there.
if [ -z "${LOG_DIR:-}" ]; then
  if [ -w "$home" ]; then LOG_DIR="$home/logs"; else LOG_DIR="$PWD/logs"; fi
fi
export LOG_DIR

# -P keeps the working folder off the module path: a file called queue.py there must not get in the way.
exec "$python" -P -X frozen_modules=on -m "kafka_zk.tools.$module" "$@"
