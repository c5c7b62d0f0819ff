#!/usr/bin/env bash
# Stops the brokers of this machine: kafka-server-stop.sh
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" server_stop "$@"
