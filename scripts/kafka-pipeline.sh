#!/usr/bin/env bash
# Moves data into, through and out of Kafka with Spark: kafka-pipeline.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" pipeline "$@"
