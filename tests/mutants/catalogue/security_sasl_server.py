"""Faults in how clients log in on SASL listeners."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MECHANISMS = "tests/unit/sasl/test_server_mechanisms.py"
VALIDATORS = "tests/unit/sasl/test_token_validators.py"
KERBEROS = "tests/unit/sasl/test_kerberos.py"
STATES = "tests/unit/security/authentication/test_states.py"
LOGINS = "tests/integration/network/test_socket_server_logins.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="who has not logged in takes no memory from those who have",
        file="kafka_zk/network/request_memory.py",
        old="        self._is_free = True\n",
        new="",
        tests=f"{LOGINS} -k takes_no_memory_of_requests",
    ),
    Mutant(
        breaks="a removed listener is closed although another one cannot be opened",
        file="kafka_zk/broker/parts.py",
        old="            self._socket_server.close_all_but(self._socket_settings())\n",
        new="",
        tests="tests/integration/security/test_sasl_new_listener.py -k removed",
    ),
    Mutant(
        breaks="a credential is never removed without its notice",
        file="kafka_zk/zk/entity_configs.py",
        old="    results = zk.multi([*operations, notice])\n    if",
        new="    results = [*zk.multi(operations), *zk.multi([notice])]\n    if",
        tests="tests/unit/admin/test_config_changes.py -k removal_of_a_credential",
    ),
    Mutant(
        breaks="nobody writes lines of the log before a login",
        file="kafka_zk/network/connection.py",
        old="        why = one_line(str(failed))\n",
        new="        why = str(failed)\n",
        tests=f"{LOGINS} -k two_lines",
    ),
    Mutant(
        breaks="a long message of SCRAM is refused unread",
        file="kafka_zk/sasl/server/scram.py",
        old="        if len(token) > MAX_MESSAGE_BYTES:\n",
        new="        if not token:\n",
        tests=f"{MECHANISMS} -k refused_unread",
    ),
    Mutant(
        breaks="a message of OAUTHBEARER has few extensions",
        file="kafka_zk/sasl/server/oauthbearer.py",
        old='.split(b"\\x01", MAX_PAIRS + 2)]\n',
        new='.split(b"\\x01")]\n',
        tests=f"{MECHANISMS} -k few_extensions",
    ),
    Mutant(
        breaks="a client-final belongs to the nonce of its own exchange",
        file="kafka_zk/sasl/server/scram.py",
        old='        if not message["nonce"].endswith(self._nonce):\n',
        new='        if not message["nonce"]:\n',
        tests=f"{MECHANISMS} -k proves_the_password",
    ),
    Mutant(
        breaks="nobody logs in as somebody else",
        file="kafka_zk/sasl/server/plain.py",
        old="        if authorization_id and authorization_id != user:\n",
        new="        if authorization_id and not user:\n",
        tests=f"{MECHANISMS} -k kafkas_words",
    ),
    Mutant(
        breaks="what a key may check is fixed by the key",
        file="kafka_zk/sasl/server/signed_token.py",
        old="        fitting = [key for key in self._keys_of(key_id) if algorithm in key.algorithms]\n",
        new="        fitting = list(self._keys_of(key_id))\n",
        tests=f"{VALIDATORS} -k without_a_signature",
    ),
    Mutant(
        breaks="a handshake does not save a session that has ended from its limit of one a second",
        file="kafka_zk/security/authentication/session.py",
        old="monotonic_ms - began_again_ms >= MIN_REAUTHENTICATION_INTERVAL_MS\n",
        new="True\n",
        tests=f"{STATES} -k may_begin_again",
    ),
    Mutant(
        breaks="a failed login is told after the delay",
        file="kafka_zk/network/connection.py",
        old="        if self._sit_out(self._host.failed_login_delay_ms):\n",
        new="        if self._sit_out(0):\n",
        tests=f"{LOGINS} -k told_later",
    ),
    Mutant(
        breaks="frames before a login are limited",
        file="kafka_zk/network/connection.py",
        old="        self._reader.limit_login(self._host.max_login_bytes)\n",
        new="        self._reader.limit_login(self._host.max_request_bytes)\n",
        tests=f"{LOGINS} -k refused_before_the_login",
    ),
    Mutant(
        breaks="a client of Kerberos is whom its ticket names, not whom it asks to be",
        file="kafka_zk/sasl/server/gssapi.py",
        old="        self.identity = self._identity_of(peer)\n",
        new="        self.identity = self._identity_of(asked)\n",
        tests=f"{KERBEROS} -k ticket_alone",
    ),
    Mutant(
        breaks="nobody is promised a protection that is not there",
        file="kafka_zk/sasl/server/gssapi.py",
        old="        if not chosen[0] & NO_PROTECTION:\n",
        new="        if not chosen[0]:\n",
        tests=f"{KERBEROS} -k wants_protection",
    ),
    Mutant(
        breaks="the default rule is for the own realm",
        file="kafka_zk/sasl/kerberos/short_names.py",
        old="            return name.service_name if name.realm == default_realm else None\n",
        new="            return name.service_name\n",
        tests=f"{KERBEROS} -k stranger",
    ),
    Mutant(
        breaks="a rule that forgets the realm names nobody",
        file="kafka_zk/sasl/kerberos/short_names.py",
        old="        if _NOT_SIMPLE.search(found):\n",
        new="        if not found:\n",
        tests=f"{KERBEROS} -k stranger",
    ),
)
