#!/usr/bin/env bash
# Lists, adds and removes ACLs: kafka-acls.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" acls "$@"
