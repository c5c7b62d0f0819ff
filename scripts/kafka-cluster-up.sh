#!/usr/bin/env bash
# Starts several brokers on this machine, or those that are missing: kafka-cluster-up.sh N [option...]
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" cluster_up "$@"
