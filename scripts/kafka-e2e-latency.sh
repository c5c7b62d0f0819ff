#!/usr/bin/env bash
# Measures the latency from producer to consumer: kafka-e2e-latency.sh
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" e2e_latency "$@"
