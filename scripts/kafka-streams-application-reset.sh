#!/usr/bin/env bash
# Resets an application of Kafka Streams: kafka-streams-application-reset.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" streams_application_reset "$@"
