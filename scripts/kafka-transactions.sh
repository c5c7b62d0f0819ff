#!/usr/bin/env bash
# Lists and describes transactions, finds hanging ones and aborts them: kafka-transactions.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" transactions "$@"
