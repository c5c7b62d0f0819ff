#!/usr/bin/env bash
# Prints the request versions that brokers support: kafka-broker-api-versions.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" broker_api_versions "$@"
