#!/usr/bin/env bash
# Prints the id of a cluster: kafka-cluster.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" cluster "$@"
