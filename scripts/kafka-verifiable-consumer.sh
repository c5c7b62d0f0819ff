#!/usr/bin/env bash
# Consumes a topic and reports each event, for system tests: kafka-verifiable-consumer.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" verifiable_consumer "$@"
