#!/usr/bin/env bash
# Tells what is in log directories: kafka-log-dirs.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" log_dirs "$@"
