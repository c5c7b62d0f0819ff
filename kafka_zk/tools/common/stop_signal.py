"""$SIGNAL: what the tools that stop servers send, TERM without it.

Role        Reads the environment.
Source      kafka-server-stop.sh, zookeeper-server-stop.sh: kill -s $SIGNAL, which takes numbers, and names in any case,
            with or without SIG.
"""

from __future__ import annotations

import os
import signal

from kafka_zk.tools.common.failures import Refused


def wanted_signal() -> signal.Signals:
    """Raises Refused for what is no signal."""
    text = os.environ.get("SIGNAL") or "TERM"
    try:
        if text.isdecimal():
            return signal.Signals(int(text))
        return signal.Signals[f"SIG{text.upper().removeprefix('SIG')}"]
    except (KeyError, ValueError):
        raise Refused(f"Unknown signal {text}") from None
