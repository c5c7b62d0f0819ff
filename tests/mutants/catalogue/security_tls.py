"""Faults in TLS: who is believed, what a principal is called, and what leaves encrypted."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

CONTEXTS = "tests/unit/tls/test_contexts.py"
STORES = "tests/unit/tls/test_stores.py"
MEETINGS = "tests/integration/tls/test_reload_meetings.py"
SERVER = "tests/integration/network/test_socket_server_tls.py"
SLICES = "tests/integration/network/test_socket_server_tls_slices.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="of two PEM files put together both count",
        file="kafka_zk/tls/pem.py",
        old="(?P<label>[^-]*)-",
        new="(?P<label>[^-]*)-+",
        tests="tests/unit/tls/test_pem.py",
    ),
    Mutant(
        breaks="clients are told whose certificates a server takes",
        file="kafka_zk/tls/contexts.py",
        old="            name_authorities(context, trusted)\n",
        new="            pass\n",
        tests=f"{CONTEXTS} -k names_the_authorities",
    ),
    Mutant(
        breaks="nobody is read from for as long as it sends records of one byte",
        file="kafka_zk/network/tls_stream.py",
        old="            records_left -= 1\n",
        new="",
        tests=f"{SERVER} -k lets_others_in",
    ),
    Mutant(
        breaks="no descriptor is closed under the thread that shakes hands on it",
        file="kafka_zk/network/tls_stream.py",
        old="            while not step.ready():\n",
        new="            while False:\n",
        tests="tests/integration/tls/test_channel.py -k under_the_thread",
    ),
    Mutant(
        breaks="stores that are read again do not undo a change",
        file="kafka_zk/broker/tls.py",
        old="        if self._listeners.get(name) is not used:\n            return False\n",
        new="",
        tests=f"{MEETINGS} -k undo",
    ),
    Mutant(
        breaks="a listener that is being closed gets no stores anew",
        file="kafka_zk/broker/tls.py",
        old="            if listener_name not in _encrypting(self._config):\n",
        new="            if not listener_name:\n",
        tests=f"{MEETINGS} -k removed",
    ),
    Mutant(
        breaks="no client keeps the loop in one read",
        file="kafka_zk/network/tls_transport.py",
        old="        self._watch.begin(self.sock)\n",
        new="",
        tests=f"{SERVER} -k does_not_end",
    ),
    Mutant(
        breaks="a machine that stands still ends no connection",
        file="kafka_zk/network/read_watch.py",
        old="time.clock_gettime(clock)\n",
        new="time.monotonic()\n",
        tests=f"{SERVER} -k waits_for_the_machine",
    ),
    Mutant(
        breaks="what is decrypted while there is no memory for requests is not forgotten",
        file="kafka_zk/network/tls_transport.py",
        old="        if not room:\n",
        new="        if False:\n",
        tests=f"{SERVER} -k no_memory",
    ),
    Mutant(
        breaks="what was decrypted before an error is handed out",
        file="kafka_zk/network/tls_stream.py",
        old="                if not count:\n                    raise\n                self._failure",
        new="                if count >= 0:\n                    raise\n                self._failure",
        tests=f"{SERVER} -k broken_end",
    ),
    Mutant(
        breaks="nobody is read from for as long as it sends",
        file="kafka_zk/network/tls_stream.py",
        old="((records_left > 0 and count < RECEIVED_BYTES)",
        new="(records_left > 0",
        tests=f"{SERVER} -k lets_others_in",
    ),
    Mutant(
        breaks="a connection that gets no transport gives its place back",
        file="kafka_zk/network/connection.py",
        old="        try:\n            self._transport = self._host.transport_for(self._socket, self._parking)\n",
        new="        self._transport = self._host.transport_for(self._socket, self._parking)\n        try:\n",
        tests=f"{SERVER} -k leaves_nothing",
    ),
    Mutant(
        breaks="a name is printed as Java prints it, its equals signs escaped",
        file="kafka_zk/tls/names.py",
        old="frozenset(',=+<>#;\"\\\\')",
        new="frozenset(',+<>#;\"\\\\')",
        tests="tests/unit/tls/test_javas_answers.py -k name",
    ),
    Mutant(
        breaks="any certificate of a trust store is an anchor",
        file="kafka_zk/tls/contexts.py",
        old=" | ssl.VERIFY_X509_PARTIAL_CHAIN\n",
        new="\n",
        tests=f"{CONTEXTS} -k anchor",
    ),
    Mutant(
        breaks="a client compares the certificate with the host that it wanted",
        file="kafka_zk/tls/contexts.py",
        old="    context.check_hostname = settings.checks_host_name\n",
        new="    context.check_hostname = False\n",
        tests=f"{CONTEXTS} -k another_name",
    ),
    Mutant(
        breaks="a key in a trust store does not make its issuers trusted",
        file="kafka_zk/tls/pkcs.py",
        old=" for other in others if other not in chain)",
        new=" for other in others)",
        tests=f"{STORES} -k issuers",
    ),
    Mutant(
        breaks="nothing of a Java key store is believed before its digest is right",
        file="kafka_zk/tls/jks.py",
        old="        if not hmac.compare_digest(digest, data[-_DIGEST_BYTES:]):\n",
        new="        if not digest:\n",
        tests=f"{STORES} -k another_password",
    ),
    Mutant(
        breaks="a new certificate names every host of the old one",
        file="kafka_zk/tls/replacement.py",
        old="            if not before.alternatives <= after.alternatives:\n",
        new="            if not before.alternatives >= after.alternatives:\n",
        tests="tests/integration/tls/test_reload.py -k fit",
    ),
    Mutant(
        breaks="sendfile is used only where the kernel has proved that it encrypts",
        file="kafka_zk/network/tls_stream.py",
        old="        except OSError:\n            return False\n",
        new="        except OSError:\n            return True\n",
        tests="tests/integration/tls/test_failures.py -k records",
    ),
    Mutant(
        breaks="decrypted bytes that the socket does not show are not waited for",
        file="kafka_zk/network/tls_stream.py",
        old="        return self._has_ended or self._failure is not None or self.sock.pending() > 0\n",
        new="        return self._has_ended or self._failure is not None\n",
        tests="tests/integration/network/test_socket_server_tls.py -k no_memory",
    ),
    Mutant(
        breaks="what a full socket leaves is kept for its client alone",
        file="kafka_zk/network/tls_transport.py",
        old="                unsent = bytes(unsent)\n",
        new="",
        tests=f"{SLICES} -k slow_reader",
    ),
    Mutant(
        breaks="the records of an answer leave together",
        file="kafka_zk/network/tls_stream.py",
        old="        if more_follows or len(data) > RECORD_BYTES:\n",
        new="        if False:\n",
        tests=f"{SLICES} -k leave_together",
    ),
    Mutant(
        breaks="the end of an answer is not held back",
        file="kafka_zk/network/tls_stream.py",
        old="            if self._is_corked and not (more_follows and is_sent):\n",
        new="            if False:\n",
        tests=f"{SLICES} -k waits_for_more",
    ),
    Mutant(
        breaks="a read goes on while the socket has records",
        file="kafka_zk/network/tls_stream.py",
        old="        return fcntl.ioctl(self.sock.fileno(), termios.FIONREAD, _NO_COUNT) != _NO_COUNT\n",
        new="        return False\n",
        tests=f"{SERVER} -k lets_others_in",
    ),
    Mutant(
        breaks="answers before a slice that is gone arrive over TLS",
        file="kafka_zk/network/tls_transport.py",
        old="            if filled:\n                self._send_whole(self._room[:filled])\n            raise\n",
        new="            raise\n",
        tests=f"{SLICES} -k is_gone",
    ),
    Mutant(
        breaks="a hello that comes byte by byte takes no thread",
        file="kafka_zk/network/tls_transport.py",
        old="        stream.wake_at(stream.first_record_bytes())\n",
        new="",
        tests=f"{SERVER} -k record_is_whole",
    ),
    Mutant(
        breaks="what begins no handshake is refused at once",
        file="kafka_zk/network/tls_stream.py",
        old="if size_bytes <= RECORD_BYTES else 1",
        new="if size_bytes else 1",
        tests=f"{SERVER} -k no_handshake",
    ),
)
