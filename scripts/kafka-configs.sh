#!/usr/bin/env bash
# Describes and changes configurations, quotas and SCRAM credentials: kafka-configs.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" configs "$@"
