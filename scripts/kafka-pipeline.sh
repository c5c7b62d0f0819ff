#!/usr/bin/env bash
# Data in, through and out of Kafka, on Spark: kafka-pipeline.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" pipeline "$@"
