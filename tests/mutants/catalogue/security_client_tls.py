"""Faults of those who connect over TLS: clients, Spark, readers of metrics."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

TLS = "tests/unit/client/network/test_tls.py"
SECRETS = "tests/unit/spark/test_client_secrets.py"
ACCESS = "tests/unit/metrics/test_metrics_access.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a certificate that a server of TLS 1.3 refuses after the handshake is fatal to the caller",
        file="kafka_zk/client/network/transports.py",
        old="            if self._has_received:\n                raise\n",
        new="            if not self._has_received:\n                raise\n",
        tests=f"{TLS} -k missing_client_certificate",
    ),
    Mutant(
        breaks="a client ends its TLS connection with close_notify",
        file="kafka_zk/client/network/transports.py",
        old="            self._socket.unwrap()\n",
        new="",
        tests=f"{TLS} -k end_is_announced",
    ),
    Mutant(
        breaks="secrets among the options of a query leave its plan",
        file="kafka_zk/spark/client_secrets.py",
        old="        found = {name: value for name, value in found.items() if name not in secrets}\n",
        new="",
        tests=f"{SECRETS} -k leave_the_plan",
    ),
    Mutant(
        breaks="a command line takes no secret",
        file="kafka_zk/spark/cli/arguments.py",
        old="        refuse_on_command_line(options)\n",
        new="",
        tests=f"{SECRETS} -k command_line",
    ),
    Mutant(
        breaks="the name is compared as well as the password",
        file="kafka_zk/metrics/access.py",
        old="        return is_user and is_password and bool(colon)\n",
        new="        return is_password and bool(colon)\n",
        tests=f"{ACCESS} -k right_name",
    ),
    Mutant(
        breaks="a handshake with the metrics port ends in time",
        file="kafka_zk/metrics/http.py",
        old="    timeout = gevent.Timeout.start_new(REQUEST_S)\n    try:\n        protected.do_handshake()\n",
        new="    timeout = gevent.Timeout.start_new(REQUEST_S * 1000)\n    try:\n        protected.do_handshake()\n",
        tests=f"{ACCESS} -k gives_its_place_back",
    ),
)
