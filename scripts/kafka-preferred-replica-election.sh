#!/usr/bin/env bash
# Gives partitions back to their preferred leaders (the tool of 2.8): kafka-preferred-replica-election.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" preferred_replica_election "$@"
