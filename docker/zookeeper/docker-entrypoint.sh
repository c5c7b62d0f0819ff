#!/bin/bash
# Write the configuration from the environment, as the official image does, and run the server.
#
# ZOO_MY_ID, ZOO_SERVERS ("server.1=host:2888:3888;2181 ..."), ZOO_TICK_TIME, ZOO_INIT_LIMIT, ZOO_SYNC_LIMIT,
# ZOO_AUTOPURGE_PURGEINTERVAL, ZOO_AUTOPURGE_SNAPRETAINCOUNT, ZOO_MAX_CLIENT_CNXNS, ZOO_STANDALONE_ENABLED,
# ZOO_4LW_COMMANDS_WHITELIST, ZOO_CFG_EXTRA ("key=value key=value"), ZK_SERVER_HEAP (MB), JVMFLAGS.
# A configuration mounted at /conf/zoo.cfg is taken as it is.
set -euo pipefail

config="$ZOO_CONF_DIR/zoo.cfg"
if [ ! -f "$config" ]; then
  {
    echo "dataDir=$ZOO_DATA_DIR"
    echo "dataLogDir=$ZOO_DATA_LOG_DIR"
    echo "tickTime=${ZOO_TICK_TIME:-2000}"
    echo "initLimit=${ZOO_INIT_LIMIT:-5}"
    echo "syncLimit=${ZOO_SYNC_LIMIT:-2}"
    echo "autopurge.snapRetainCount=${ZOO_AUTOPURGE_SNAPRETAINCOUNT:-3}"
    echo "autopurge.purgeInterval=${ZOO_AUTOPURGE_PURGEINTERVAL:-0}"
    echo "maxClientCnxns=${ZOO_MAX_CLIENT_CNXNS:-60}"
    echo "standaloneEnabled=${ZOO_STANDALONE_ENABLED:-true}"
    # Jetty is not in this image.
    echo "admin.enableServer=false"
    for server in ${ZOO_SERVERS:-server.1=localhost:2888:3888;2181}; do echo "$server"; done
    if [ -n "${ZOO_4LW_COMMANDS_WHITELIST:-}" ]; then echo "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST"; fi
    for extra in ${ZOO_CFG_EXTRA:-}; do echo "$extra"; done
  } >"$config"
fi
[ -f "$ZOO_DATA_DIR/myid" ] || echo "${ZOO_MY_ID:-1}" >"$ZOO_DATA_DIR/myid"

# Other commands (a shell, zookeeper's client) run as they are.
if [ $# -gt 0 ] && [ "$1" != zkServer.sh ]; then exec "$@"; fi

# shellcheck disable=SC2086  # JVMFLAGS is a list of options
exec java "-Xmx${ZK_SERVER_HEAP:-1000}m" -Dlog4j2.level=INFO ${JVMFLAGS:-} \
  -cp '/opt/zookeeper/lib/*' org.apache.zookeeper.server.quorum.QuorumPeerMain "$config"
