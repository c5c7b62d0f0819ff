#!/usr/bin/env bash
# Creates, renews, ends and describes delegation tokens: kafka-delegation-tokens.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" delegation_tokens "$@"
