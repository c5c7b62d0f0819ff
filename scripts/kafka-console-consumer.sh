#!/usr/bin/env bash
# Prints the records of topics: kafka-console-consumer.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" console_consumer "$@"
