#!/usr/bin/env bash
# Checks the directories of a stopped broker, and reports what a start would do: kafka-log-doctor.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" log_doctor "$@"
