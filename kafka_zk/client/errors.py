"""Client-side errors, and Java's names of all errors.

Role        Pure. An error that came over the wire is a `BrokerError`; errors that only a client can meet are below.
Invariants  `java_name` of any error is the class that Apache's clients throw in its place: tools print it, and
            scripts look for it.
Source      Kafka 3.9 org.apache.kafka.common.errors, Errors (which class represents which code).
"""

from __future__ import annotations

from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.causes import caused_by
from kafka_zk.protocol.errors import BrokerError

ERRORS_PACKAGE = "org.apache.kafka.common.errors."

# Codes whose class has another name.
_CLASS_OF_CODE = {
    "UNKNOWN_SERVER_ERROR": "UnknownServerException",
    "CORRUPT_MESSAGE": "CorruptRecordException",
    "REQUEST_TIMED_OUT": "TimeoutException",
    "MESSAGE_TOO_LARGE": "RecordTooLargeException",
    "STALE_CONTROLLER_EPOCH": "ControllerMovedException",
    "OFFSET_METADATA_TOO_LARGE": "OffsetMetadataTooLarge",
    "NETWORK_EXCEPTION": "NetworkException",
    "INVALID_TOPIC_EXCEPTION": "InvalidTopicException",
    "RECORD_LIST_TOO_LARGE": "RecordBatchTooLargeException",
    "TOPIC_AUTHORIZATION_FAILED": "TopicAuthorizationException",
    "GROUP_AUTHORIZATION_FAILED": "GroupAuthorizationException",
    "CLUSTER_AUTHORIZATION_FAILED": "ClusterAuthorizationException",
    "TOPIC_ALREADY_EXISTS": "TopicExistsException",
    "INVALID_CONFIG": "InvalidConfigurationException",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "OutOfOrderSequenceException",
    "DUPLICATE_SEQUENCE_NUMBER": "DuplicateSequenceException",
    "INVALID_PRODUCER_ID_MAPPING": "InvalidPidMappingException",
    "INVALID_TRANSACTION_TIMEOUT": "InvalidTxnTimeoutException",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "TransactionalIdAuthorizationException",
    "KAFKA_STORAGE_ERROR": "KafkaStorageException",
    "SASL_AUTHENTICATION_FAILED": "SaslAuthenticationException",
    "DELEGATION_TOKEN_AUTH_DISABLED": "DelegationTokenDisabledException",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "UnsupportedByAuthenticationException",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": "DelegationTokenAuthorizationException",
    "NON_EMPTY_GROUP": "GroupNotEmptyException",
    "PRINCIPAL_DESERIALIZATION_FAILURE": "PrincipalDeserializationException",
    "FETCH_SESSION_TOPIC_ID_ERROR": "FetchSessionTopicIdException",
}
_OUTSIDE_THE_PACKAGE = {"INVALID_RECORD": "org.apache.kafka.common.InvalidRecordException"}


class KafkaException(Exception):
    """A client-side error without an error code."""

    java_class = "org.apache.kafka.common.KafkaException"


class TimeoutException(KafkaException):
    """A call timed out."""

    java_class = ERRORS_PACKAGE + "TimeoutException"


class DisconnectException(KafkaException):
    """The connection was closed, or could not be established, before the response. Retriable."""

    java_class = ERRORS_PACKAGE + "DisconnectException"


class ProtocolMismatch(DisconnectException):
    """The broker's listener likely speaks another security protocol. Retriable: it may be about to change."""


class CommitFailed(KafkaException):
    """The group has rebalanced without this member, so its offsets were rejected."""

    java_class = "org.apache.kafka.clients.consumer.CommitFailedException"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(
            message
            or "Offset commit cannot be completed since the consumer is not part of an active group for auto partition "
            "assignment; it is likely that the consumer was kicked out of the group."
        )


class SerializationException(KafkaException):
    """A value could not be serialized or deserialized."""

    java_class = ERRORS_PACKAGE + "SerializationException"


class IllegalStateException(KafkaException):
    """A call that is not allowed in the current state, such as any call of a closed client."""

    java_class = "java.lang.IllegalStateException"


class IllegalArgumentException(KafkaException):
    """An argument that can never be valid."""

    java_class = "java.lang.IllegalArgumentException"


class AuthenticationException(KafkaException):
    """This client and the broker do not trust each other. Fatal to the caller: trying again does not help.

    `address` is the broker's, as Java prints it, where it is known.
    """

    address = ""
    java_class = ERRORS_PACKAGE + "AuthenticationException"


class SslAuthenticationException(AuthenticationException):
    """The TLS handshake failed: a certificate, a host name, a version or a cipher."""

    java_class = ERRORS_PACKAGE + "SslAuthenticationException"


class SaslAuthenticationException(AuthenticationException):
    """The broker refused the login."""

    java_class = ERRORS_PACKAGE + "SaslAuthenticationException"


class UnsupportedSaslMechanismException(AuthenticationException):
    """The broker does not offer the mechanism of the login."""

    java_class = ERRORS_PACKAGE + "UnsupportedSaslMechanismException"


class IllegalSaslStateException(AuthenticationException):
    """The broker did not expect a login here."""

    java_class = ERRORS_PACKAGE + "IllegalSaslStateException"


class UnsupportedSecurity(KafkaException):
    """The configuration asks for security features that this client does not support yet."""


def wrapped(error: BaseException) -> KafkaException:
    """Wrap the error of a library or a bug as an error of the client: Java's `new KafkaException(error)`."""
    return caused_by(KafkaException(f"{type(error).__name__}: {error}"), error)


def java_name(error: BaseException) -> str:
    """The full name of the class that Java's clients throw for `error`."""
    given = getattr(error, "java_class", None)
    if isinstance(given, str):
        return given
    if isinstance(error, BrokerError):
        return java_name_of_code(error.code.name)
    if isinstance(error, ConfigException):
        return "org.apache.kafka.common.config.ConfigException"
    return f"{type(error).__module__}.{type(error).__qualname__}"


def java_name_of_code(code_name: str) -> str:
    """INVALID_CONFIG -> org.apache.kafka.common.errors.InvalidConfigurationException."""
    if code_name in _OUTSIDE_THE_PACKAGE:
        return _OUTSIDE_THE_PACKAGE[code_name]
    plain = "".join(word.capitalize() for word in code_name.split("_")) + "Exception"
    return ERRORS_PACKAGE + _CLASS_OF_CODE.get(code_name, plain)
