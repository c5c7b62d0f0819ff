#!/usr/bin/env bash
# Prints offsets of partitions by time or position: kafka-get-offsets.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" get_offsets "$@"
