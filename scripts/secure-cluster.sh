#!/usr/bin/env bash
# A secured cluster to try things on; --help says all. Sets up .venv first where it starts one.
set -euo pipefail
here="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)"
case " $* " in
  *" -h "* | *" --help "* | *" --status "* | *" --stop "*) ;; # they need nothing but Python
  *) "$here/setup.sh" embedded ;;
esac
python="$here/../.venv/bin/python"
[ -x "$python" ] || python="${PYTHON:-python3}"
exec "$python" "$here/secure_cluster.py" "$@"
