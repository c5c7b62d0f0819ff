#!/usr/bin/env bash
# Describes the log directories of brokers: kafka-log-dirs.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" log_dirs "$@"
