#!/usr/bin/env bash
# A secured cluster to try things on: makes a certificate authority, certificates, users and their rights, starts a
# protected ZooKeeper and a broker that speaks SASL_SSL and asks for rights, and prints how clients connect.
#
#   scripts/secure-cluster.sh [--dir DIR]      start it, again with what is there (default: ./secure-trial)
#   scripts/secure-cluster.sh --stop [--dir DIR]
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
for argument in "$@"; do
  if [ "$argument" = -h ] || [ "$argument" = --help ]; then
    sed -n 's/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed -n '2,7p'
    exit 0
  fi
done
[[ " $* " == *" --stop"* ]] || "$here/setup.sh" embedded
exec "$here/../.venv/bin/python" "$here/secure_cluster.py" "$@"
