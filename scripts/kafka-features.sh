#!/usr/bin/env bash
# Describes and changes the features of a cluster: kafka-features.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" features "$@"
