#!/usr/bin/env bash
# Creates, deletes, describes and changes topics: kafka-topics.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" topics "$@"
