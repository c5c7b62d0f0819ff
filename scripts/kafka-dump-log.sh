#!/usr/bin/env bash
# Prints the content of the files in a log directory: kafka-dump-log.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" dump_log "$@"
