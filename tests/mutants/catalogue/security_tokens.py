"""Faults in delegation tokens, in the broker's own logins, and in the protection of znodes."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

TOKENS = "tests/unit/security/tokens/test_tokens.py"
CLIENT = "tests/unit/sasl/test_client.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="who asked for a token of another may not renew it",
        file="kafka_zk/security/tokens/rules.py",
        old="    if principal != token.owner and principal not in token.renewers:\n",
        new="    if not concerns(token, principal):\n",
        tests=f"{TOKENS} -k a_requester_does_not",
    ),
    Mutant(
        breaks="no token lives longer than the cluster allows",
        file="kafka_zk/security/tokens/rules.py",
        old="        life_ms = min(max_lifetime_ms, self.max_lifetime_ms) if",
        new="        life_ms = max_lifetime_ms if",
        tests=f"{TOKENS} -k bounded_by",
    ),
    Mutant(
        breaks="tokens removed while there was no session are forgotten",
        file="kafka_zk/security/tokens/store.py",
        old="            for gone in self._tokens.keys() - set(ids):\n                self._forget(gone)\n",
        new="",
        tests=f"{TOKENS} -k read_again",
    ),
    Mutant(
        breaks="of two changes of tokens the second sees what the first has done",
        file="kafka_zk/security/tokens/store.py",
        old="        self._turn = RLock()\n",
        new='        self._turn = __import__("contextlib").nullcontext()\n',
        tests=f"{TOKENS} -k while_all_tokens_are_read",
    ),
    Mutant(
        breaks="a renewal on another broker brings back no token",
        file="kafka_zk/security/tokens/store.py",
        old="            self._forget(token.token_id)\n            raise DelegationTokenNotFound from None\n",
        new="            self._zk.create(path, data)\n",
        tests=f"{TOKENS} -k on_another_broker",
    ),
    Mutant(
        breaks="the sweep looks whether somebody has renewed",
        file="kafka_zk/security/tokens/store.py",
        old="            zk_version = self._read(token_id)\n",
        new="            zk_version = ANY_VERSION\n",
        tests=f"{TOKENS} -k sweep_spares",
    ),
    Mutant(
        breaks="the sweep removes the token that it has looked at",
        file="kafka_zk/security/tokens/store.py",
        old="            self._remove(token_id, zk_version)\n",
        new="            self._remove(token_id)\n",
        tests=f"{TOKENS} -k under_its_eyes",
    ),
    Mutant(
        breaks="a token is not compared with each of many owners",
        file="kafka_zk/security/tokens/rules.py",
        old="wanted_owners.isdisjoint((token.owner, token.token_requester, *token.renewers)):\n",
        new="not any(concerns(token, owner) for owner in wanted_owners):\n",
        tests=f"{TOKENS} -k many_owners",
    ),
    Mutant(
        breaks="an expired token can still be removed by its owner",
        file="kafka_zk/security/tokens/store.py",
        old="            if period_ms < 0:\n",
        new="            if period_ms < 0 and not is_over(token, now_ms):\n",
        tests=f"{TOKENS} -k at_a_wish",
    ),
    Mutant(
        breaks="a server that does not know the credential is not believed",
        file="kafka_zk/sasl/client/scram.py",
        old='        if not hmac.compare_digest(_decoded(found["signature"]), expected):\n',
        new='        if not _decoded(found["signature"]):\n',
        tests=f"{CLIENT} -k does_not_know",
    ),
    Mutant(
        breaks="a server cannot ask for fewer iterations than are safe",
        file="kafka_zk/sasl/client/scram.py",
        old="        if iterations < MIN_ITERATIONS:\n",
        new="        if iterations < 1:\n",
        tests=f"{CLIENT} -k breaks_the_rules",
    ),
)
