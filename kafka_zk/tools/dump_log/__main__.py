"""`python -m kafka_zk.tools.dump_log`."""

import sys

from kafka_zk.tools.dump_log.command import run

sys.exit(run())
