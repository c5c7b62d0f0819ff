#!/usr/bin/env bash
# Measures how fast records can be produced: kafka-producer-perf-test.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" producer_perf_test "$@"
