#!/usr/bin/env bash
# Sends numbers to a topic and reports each, for system tests: kafka-verifiable-producer.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" verifiable_producer "$@"
