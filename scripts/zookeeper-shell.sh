#!/usr/bin/env bash
# Shows and changes znodes: zookeeper-shell.sh host:port [command...]
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" zookeeper_shell "$@"
