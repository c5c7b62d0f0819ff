#!/usr/bin/env bash
# Makes .venv beside this folder and installs kafka_zk into it, from PyPI and in place (editable).
#
#   scripts/setup.sh [EXTRA...]      extras of pyproject.toml: embedded spark dev ...
#
# Needs Python 3.11 or newer (PYTHON=... chooses one) and, the first time, the network. A second run with nothing
# changed is done at once. A C compiler is used where there is one: without it the pure Python twins of codec and walker run.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

say() { echo "setup: $*"; }
fail() {
  echo "setup: $*" >&2
  exit 1
}

for extra in "$@"; do
  case "$extra" in
    -* | *[!a-z0-9_-]*)
      sed -n 's/^# \{0,1\}//p' scripts/setup.sh | sed -n '2,7p' >&2
      exit 2
      ;;
  esac
  grep -Eq "^$extra *=" pyproject.toml || fail "pyproject.toml has no extra called $extra"
done

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      python="$candidate"
      return
    fi
  done
  fail "Python 3.11 or newer is needed and was not found (looked for python3, python3.11 ... python3.14 and \$PYTHON)"
}

# Two set-ups at once would spoil each other.
exec 9<pyproject.toml
if command -v flock >/dev/null && ! flock -n 9; then
  say "another set-up is running, waiting for it"
  flock 9
fi

# Is there only while .venv is being made: where it was left behind, somebody interrupted that.
half_made=.venv/half-made
if [ ! -x .venv/bin/python ] || [ -e "$half_made" ]; then
  find_python
  say "making .venv with $("$python" -V 2>&1) ($(command -v "$python"))"
  rm -rf .venv
  mkdir .venv
  touch "$half_made"
  "$python" -m venv .venv || {
    rm -rf .venv
    fail "this Python cannot make virtual environments (on Debian and Ubuntu: apt-get install python3-venv)"
  }
  rm "$half_made"
fi

# What the environment was made from. Each set of extras is remembered by itself: tests and demos take turns.
sources=(pyproject.toml setup.py)
for module in $(find kafka_zk -name "_*.pyx" -o -name "_*.pxd" | sort) \
  $(grep -rl --include="*.py" '^# Compiled by mypyc: ' kafka_zk | sort); do
  [ ! -f "$module" ] || sources+=("$module")
done
hash="$({ cat "${sources[@]}"; .venv/bin/python -V; } | sha256sum | cut -c1-32)"
stamp=.venv/setup-stamp
wanted=(base "$@")
missing=()
for extra in "${wanted[@]}"; do
  grep -qxF "$extra $hash" "$stamp" 2>/dev/null || missing+=("$extra")
done
if [ ${#missing[@]} -eq 0 ]; then
  # What is compiled came from these very sources, whatever their times say: git may have written them anew.
  find kafka_zk -name "*.so" -exec touch {} +
  say "everything is in place (.venv)"
  exit 0
fi

extras="$(IFS=,; echo "$*")"
say "installing kafka_zk${extras:+ with $extras} into .venv (from PyPI, this can take a few minutes)"
command -v cc >/dev/null || command -v gcc >/dev/null || say "no C compiler: everything will run in pure Python"
pip_install() { .venv/bin/python -m pip install --disable-pip-version-check --quiet "$@"; }

# What the package and the extras ask for; an extra may name another one of ours.
mapfile -t requirements < <(
  .venv/bin/python - "$@" <<'PYTHON'
import re
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = sys.argv[1:]
for extra in extras:
    extras += re.findall(r"^kafka_zk\[(.*)\]$", "\n".join(project["optional-dependencies"][extra]), re.M)
wanted = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
print("\n".join(dict.fromkeys(each for each in wanted if not each.startswith("kafka_zk["))))
PYTHON
)
if [ "${missing[0]}" = base ]; then
  # A build starts with the setuptools of .venv, isolated or not: it must not be replaced meanwhile.
  for each in "${requirements[@]}"; do
    [[ "$each" != setuptools* ]] || pip_install "$each" || fail "pip could not install $each; see its message above"
  done
  # Our own modules are compiled while the others are fetched.
  pip_install --no-deps --editable . &
  compiling=$!
  pip_install "${requirements[@]}" || not_installed=1
  wait "$compiling" || not_installed=1
else
  # Only extras are missing: what is compiled came from these very sources.
  find kafka_zk -name "*.so" -exec touch {} +
  pip_install "${requirements[@]}" || not_installed=1
fi
[ -z "${not_installed:-}" ] || fail "pip could not install the package; see its message above (is the network there?)"

# The first start should not have to compile three hundred modules.
.venv/bin/python -m compileall -q -j 0 kafka_zk

touch "$stamp"
{ grep -F " $hash" "$stamp" || true; printf "%s $hash\n" "${wanted[@]}"; } | sort -u >"$stamp.new"
mv "$stamp.new" "$stamp"
say "done: $(.venv/bin/python -c 'import kafka_zk; print("kafka_zk", kafka_zk.__version__)') in .venv"
