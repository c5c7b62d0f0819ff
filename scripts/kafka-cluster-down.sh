#!/usr/bin/env bash
# Stops them, one after the other: kafka-cluster-down.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" cluster_down "$@"
