#!/usr/bin/env bash
# Sets the access lists of a cluster's znodes: zookeeper-security-migration.sh --help
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/kafka-run.sh" zookeeper_security_migration "$@"
