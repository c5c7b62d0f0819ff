#!/usr/bin/env bash
# Measures how fast records can be consumed: kafka-consumer-perf-test.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" consumer_perf_test "$@"
