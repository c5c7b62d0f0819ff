#!/usr/bin/env bash
# Starts Apache ZooKeeper: zookeeper-server-start.sh [-daemon] zookeeper.properties
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" zookeeper_server_start "$@"
