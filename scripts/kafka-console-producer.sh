#!/usr/bin/env bash
# Sends lines from standard input to a topic: kafka-console-producer.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" console_producer "$@"
