#!/usr/bin/env bash
# Measures how long a record takes to its reader: kafka-e2e-latency.sh
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" e2e_latency "$@"
