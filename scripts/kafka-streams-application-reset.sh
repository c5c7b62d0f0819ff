#!/usr/bin/env bash
# Lets an application of Kafka Streams begin anew: kafka-streams-application-reset.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" streams_application_reset "$@"
