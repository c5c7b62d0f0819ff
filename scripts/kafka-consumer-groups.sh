#!/usr/bin/env bash
# Lists and describes consumer groups, deletes them, and resets or deletes their offsets: kafka-consumer-groups.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" consumer_groups "$@"
