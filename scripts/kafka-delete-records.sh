#!/usr/bin/env bash
# Deletes records of partitions up to given offsets: kafka-delete-records.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" delete_records "$@"
