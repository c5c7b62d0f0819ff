#!/usr/bin/env bash
# Stops the ZooKeeper of this machine: zookeeper-server-stop.sh
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" zookeeper_server_stop "$@"
