#!/usr/bin/env bash
# Looks into ZooKeeper and changes it: zookeeper-shell.sh host:port [command...]
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" zookeeper_shell "$@"
