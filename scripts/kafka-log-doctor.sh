#!/usr/bin/env bash
# Checks stopped data directories, and says what a start would do: kafka-log-doctor.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" log_doctor "$@"
