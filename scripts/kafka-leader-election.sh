#!/usr/bin/env bash
# Elects leaders of partitions, preferred or unclean ones: kafka-leader-election.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" leader_election "$@"
