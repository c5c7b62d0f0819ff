#!/usr/bin/env bash
# Restarts them, one after the other, while the cluster serves: kafka-cluster-restart.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" cluster_restart "$@"
