"""Faults in how our clients and brokers log in at others."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

CLIENT = "tests/unit/sasl/test_client.py"
KERBEROS = "tests/unit/sasl/test_kerberos.py"
TOKENS = "tests/unit/sasl/test_access_token.py"
BROKERS_TOKENS = "tests/integration/security/test_brokers_fetch_tokens.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="an issuer of tokens that trickles is given up in time",
        file="kafka_zk/sasl/http_exchange.py",
        old="        self._timer.start()\n",
        new="",
        tests="tests/unit/sasl/test_http_exchange.py -k trickles",
    ),
    Mutant(
        breaks="a server must repeat the client's nonce",
        file="kafka_zk/sasl/client/scram.py",
        old='        if not found["nonce"].startswith(self._nonce) or found["nonce"] == self._nonce:\n',
        new='        if found["nonce"] == self._nonce:\n',
        tests=f"{CLIENT} -k gets_no_proof",
    ),
    Mutant(
        breaks="a server must know the credential",
        file="kafka_zk/sasl/client/scram.py",
        old='        if not hmac.compare_digest(_decoded(found["signature"]), expected):\n',
        new='        if not _decoded(found["signature"]):\n',
        tests=f"{CLIENT} -k does_not_know_the_credential",
    ),
    Mutant(
        breaks="a token that has ended is never given",
        file="kafka_zk/sasl/client/token_source.py",
        old="        if token is None or _left_ms(token) < LEAST_LIFE_MS:\n            with self._fetching:\n",
        new="        if token is None:\n            with self._fetching:\n",
        tests=f"{TOKENS} -k never_given",
    ),
    Mutant(
        breaks="the next token is fetched without anybody asking for it",
        file="kafka_zk/sasl/client/token_source.py",
        old="            token = self._fetch()\n        self._renew_at(self._due_ms(token))\n",
        new="            self._fetch()\n",
        tests=f"{TOKENS} -k given_while",
    ),
    Mutant(
        breaks="a broker proves with each message that it has the service's key",
        file="kafka_zk/sasl/client/gssapi.py",
        old="            offered = self._context.unwrap(challenge)\n",
        new="            offered = challenge[-4:]\n",
        tests=f"{KERBEROS} -k takes_no_offer",
    ),
    Mutant(
        breaks="a ticket that could not be renewed is tried for again",
        file="kafka_zk/sasl/kerberos/login.py",
        old="            self._renew_in(PAUSE_AFTER_FAILURE_S)\n",
        new="            pass\n",
        tests=f"{KERBEROS} -k failed_one",
    ),
    Mutant(
        breaks="a broker that could not renew its token asks again",
        file="kafka_zk/security/authentication/refreshing_login.py",
        old="                pause_ms = PAUSE_AFTER_FAILURE_MS\n",
        new="                return\n",
        tests=f"{BROKERS_TOKENS} -k down_later",
    ),
    Mutant(
        breaks="the loop never waits for a token endpoint",
        file="kafka_zk/security/authentication/refreshing_login.py",
        old="        found = self._pool.apply(_fetched, (self._settings,))\n",
        new="        found = _fetched(self._settings)\n",
        tests=f"{BROKERS_TOKENS} -k endpoint_is_slow",
    ),
    Mutant(
        breaks="a stop does not wait for a token endpoint",
        file="kafka_zk/security/authentication/refreshing_login.py",
        old="        gevent.spawn(self._pool.kill)\n",
        new="        self._pool.kill()\n",
        tests=f"{BROKERS_TOKENS} -k does_not_wait",
    ),
    Mutant(
        breaks="a token whose session would be too short is not given where another can be had",
        file="kafka_zk/sasl/client/token_source.py",
        old="LEAST_LIFE_MS: Final = 1500\n",
        new="LEAST_LIFE_MS: Final = 0\n",
        tests=f"{TOKENS} -k near_its_end",
    ),
    Mutant(
        breaks="a login is not renewed before brokers take it",
        file="kafka_zk/sasl/client/login.py",
        old="        return SHORTEST_PAUSE_MS if self._is_renewal else 0\n",
        new="        return 0\n",
        tests="tests/unit/sasl/test_login.py -k within_the_second",
    ),
    Mutant(
        breaks="an https server of OAuth is checked with the stores of the login module",
        file="kafka_zk/sasl/oauth_http.py",
        old="{name: options[name].strip() for name in _STORES if name in options}",
        new="{}",
        tests="tests/integration/security/test_key_fetcher.py -k behind_https",
    ),
    Mutant(
        breaks="the name of an https server of OAuth is always compared",
        file="kafka_zk/sasl/oauth_http.py",
        old="{name: options[name].strip() for name in _STORES if name in options}",
        new="options",
        tests="tests/integration/security/test_key_fetcher.py -k behind_https",
    ),
    Mutant(
        breaks="a broker's own login that was altered counts for its next connection",
        file="kafka_zk/broker/peer_logins.py",
        old="        if settings == used.settings or (",
        new="        if settings or (",
        tests="tests/unit/broker/test_peer_logins.py -k next_connection",
    ),
    Mutant(
        breaks="a key that a listener has got since the start stands in the way of later changes",
        file="kafka_zk/config/reconfiguration.py",
        old="_fixed_keys_of(name, old.layers.static)",
        new="_fixed_keys_of(name, old.originals)",
        tests="tests/unit/config/test_reconfiguration.py -k stands_in_the_way",
    ),
)
