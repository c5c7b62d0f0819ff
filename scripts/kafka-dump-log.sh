#!/usr/bin/env bash
# Shows what the files of a log directory say: kafka-dump-log.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" dump_log "$@"
