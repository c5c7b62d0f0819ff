#!/usr/bin/env bash
# Moves replicas of partitions between brokers and between log directories: kafka-reassign-partitions.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" reassign_partitions "$@"
