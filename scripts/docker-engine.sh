#!/usr/bin/env bash
# A container engine for the tests, where none runs.
#
#   scripts/docker-engine.sh start   install Debian's docker.io where dockerd is missing, start it, wait until it answers
#   scripts/docker-engine.sh stop    stop the engine that `start` has started; any other one is left alone
#
# Needs root (or an engine that runs already). The engine has no bridge and no firewall rules: containers of the tests
# share the host's network.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
state="$here/../.cache/docker-engine"
socket="/var/run/docker.sock"

answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

install_engine() {
  command -v dockerd >/dev/null && return
  if ! command -v apt-get >/dev/null; then
    echo "docker-engine.sh: dockerd is missing and this is not Debian; please install Docker" >&2
    exit 1
  fi
  echo "docker-engine.sh: install Debian's docker.io"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends docker.io >/dev/null
}

start() {
  if command -v docker >/dev/null && answers; then
    echo "docker-engine.sh: an engine is already running"
    return
  fi
  if [ "$(id -u)" != 0 ]; then
    echo "docker-engine.sh: no container engine is running, and only root can start one" >&2
    exit 1
  fi
  install_engine
  mkdir -p "$state"
  # A group of its own, so that a Ctrl-C meant for the tests does not take the engine away under them.
  setsid dockerd --storage-driver=vfs --iptables=false --ip6tables=false --bridge=none \
    --host="unix://$socket" --data-root="$state/data" --exec-root="$state/run" --pidfile="$state/pid" \
    >"$state/log" 2>&1 </dev/null &
  local engine=$!
  for _ in $(seq 300); do
    if answers; then
      echo "docker-engine.sh: engine started (process $engine, log $state/log)"
      return
    fi
    if ! kill -0 "$engine" 2>/dev/null; then break; fi
    sleep 0.1
  done
  echo "docker-engine.sh: dockerd did not start:" >&2
  tail -20 "$state/log" >&2
  exit 1
}

stop() {
  if ! [ -f "$state/pid" ]; then
    echo "docker-engine.sh: no engine started by this script is running"
    return
  fi
  local engine
  engine="$(cat "$state/pid")"
  if [ "$(cat "/proc/$engine/comm" 2>/dev/null)" = dockerd ]; then
    kill "$engine"
    while kill -0 "$engine" 2>/dev/null; do sleep 0.1; done
  fi
  rm -f "$state/pid"
  echo "docker-engine.sh: engine stopped"
}

case "${1:-}" in
  start) start ;;
  stop) stop ;;
  *)
    sed -n '2,6p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' >&2
    exit 2
    ;;
esac
