#!/usr/bin/env bash
# Compares the replicas of topics for as long as it runs: kafka-replica-verification.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" replica_verification "$@"
