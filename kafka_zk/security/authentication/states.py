"""The states of a login, and what each kind of frame means in each: the table.

Role        Pure.
Invariants  Every state but the last two names a step for every kind of frame.
            The version of SaslHandshake alone decides whether tokens come in SaslAuthenticate or raw.
Source      SaslServerAuthenticator.SaslState, handleKafkaRequest, handleSaslToken; KIP-43, KIP-152, KIP-368.
Differs     Kafka decodes any request in AUTHENTICATE to refuse it in that API's form; here only those of a login are
            answered, the others closed.
"""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """Where the login of a connection stands."""

    INITIAL_REQUEST = auto()
    HANDSHAKE_OR_VERSIONS_REQUEST = auto()
    HANDSHAKE_REQUEST = auto()
    AUTHENTICATE = auto()
    """Tokens come in SaslAuthenticate requests."""
    AUTHENTICATE_RAW = auto()
    """Each frame is a token."""
    REAUTH_PROCESS_HANDSHAKE = auto()
    REAUTH_BAD_MECHANISM = auto()
    COMPLETE = auto()
    FAILED = auto()


class Frame(Enum):
    """What a frame holds, as far as its header tells."""

    VERSIONS = auto()
    HANDSHAKE = auto()
    AUTHENTICATE = auto()
    OTHER_API = auto()
    FOREIGN = auto()
    """No request of any API."""


class Step(Enum):
    """What to do with a frame."""

    TELL_VERSIONS = auto()
    CHOOSE_MECHANISM = auto()
    TAKE_TOKEN = auto()
    TAKE_FIRST_TOKEN_OF_GSSAPI = auto()
    """Of a client of Kafka 0.9, which sends no handshake."""
    REFUSE_DURING_HANDSHAKE = auto()
    REFUSE_DURING_AUTHENTICATION = auto()
    REFUSE_MECHANISM_OF_REAUTHENTICATION = auto()
    CLOSE = auto()
    """At once, without counting a failure."""


_DURING_HANDSHAKE = {
    Frame.VERSIONS: Step.TELL_VERSIONS,
    Frame.HANDSHAKE: Step.CHOOSE_MECHANISM,
    Frame.AUTHENTICATE: Step.REFUSE_DURING_HANDSHAKE,
    Frame.OTHER_API: Step.REFUSE_DURING_HANDSHAKE,
    Frame.FOREIGN: Step.CLOSE,
}

TABLE: dict[State, dict[Frame, Step]] = {
    State.INITIAL_REQUEST: _DURING_HANDSHAKE | {Frame.FOREIGN: Step.TAKE_FIRST_TOKEN_OF_GSSAPI},
    State.HANDSHAKE_OR_VERSIONS_REQUEST: _DURING_HANDSHAKE,
    State.HANDSHAKE_REQUEST: _DURING_HANDSHAKE | {Frame.VERSIONS: Step.CLOSE},
    State.REAUTH_PROCESS_HANDSHAKE: _DURING_HANDSHAKE | {Frame.VERSIONS: Step.CLOSE},
    State.AUTHENTICATE: {
        Frame.VERSIONS: Step.REFUSE_DURING_AUTHENTICATION,
        Frame.HANDSHAKE: Step.REFUSE_DURING_AUTHENTICATION,
        Frame.AUTHENTICATE: Step.TAKE_TOKEN,
        Frame.OTHER_API: Step.REFUSE_DURING_AUTHENTICATION,
        Frame.FOREIGN: Step.CLOSE,
    },
    State.AUTHENTICATE_RAW: dict.fromkeys(Frame, Step.TAKE_TOKEN),
    State.REAUTH_BAD_MECHANISM: dict.fromkeys(Frame, Step.REFUSE_MECHANISM_OF_REAUTHENTICATION),
}


def step(state: State, frame: Frame) -> Step:
    """What `frame` means in `state`. KeyError once the login is over: our bug."""
    return TABLE[state][frame]
