"""Describes and alters configurations of topics and brokers over the wire.

Role        Acts, through `Calls`. Requests that only one broker can answer go to that broker, all others to any.
Source      KafkaAdminClient.describeConfigs, alterConfigs, incrementalAlterConfigs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_zk.client.admin.admin_results import ConfigChange, ConfigEntry, ConfigResource, ResourceType
from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.messages import alter_configs as replacing
from kafka_zk.protocol.messages import describe_configs as describing
from kafka_zk.protocol.messages import incremental_alter_configs as changing


def describe_configs(
    calls: Calls, resources: Sequence[ConfigResource], *, synonyms: bool
) -> dict[ConfigResource, list[ConfigEntry]]:
    """Blocks. All configs of `resources`, in the order of the answer. Raises UnknownTopicOrPartition ..."""
    if not resources:
        return {}

    def build(_: int) -> describing.DescribeConfigsRequest:
        return describing.DescribeConfigsRequest(
            resources=[
                describing.DescribeConfigsResource(
                    resource_type=resource.type, resource_name=resource.name, configuration_keys=None
                )
                for resource in resources
            ],
            include_synonyms=synonyms,
        )

    def check(answer: describing.DescribeConfigsResponse) -> None:
        for result in answer.results:
            raise_for(result.error_code, result.error_message)

    call = Call(
        "describeConfigs", describing.DESCRIBE_CONFIGS_REQUEST, describing.DESCRIBE_CONFIGS_RESPONSE, build, check
    )
    answer = calls.to_node(_node_of(resources), call)
    return {
        ConfigResource(ResourceType(result.resource_type), result.resource_name): list(map(_entry, result.configs))
        for result in answer.results
    }


def _entry(entry: describing.DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        entry.name,
        entry.value,
        entry.config_source,
        entry.is_sensitive,
        entry.read_only,
        [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms],
    )


def alter_configs(calls: Calls, values: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool) -> None:
    """Blocks. Replace all overrides of topics and brokers. Raises InvalidConfig, InvalidRequest ..."""

    def build(_: int) -> replacing.AlterConfigsRequest:
        return replacing.AlterConfigsRequest(
            resources=[
                replacing.AlterConfigsResource(
                    resource_type=resource.type,
                    resource_name=resource.name,
                    configs=[replacing.AlterableConfig(name=name, value=value) for name, value in wanted.items()],
                )
                for resource, wanted in values.items()
            ],
            validate_only=validate_only,
        )

    def check(answer: replacing.AlterConfigsResponse) -> None:
        for result in answer.responses:
            raise_for(result.error_code, result.error_message)

    call = Call("alterConfigs", replacing.ALTER_CONFIGS_REQUEST, replacing.ALTER_CONFIGS_RESPONSE, build, check)
    calls.to_node(_node_of(values), call)


def incremental_alter_configs(
    calls: Calls, changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool
) -> None:
    """Blocks. Change single keys, leaving the others as they are. Raises InvalidConfig ..."""

    def build(_: int) -> changing.IncrementalAlterConfigsRequest:
        return changing.IncrementalAlterConfigsRequest(
            resources=[
                changing.AlterConfigsResource(
                    resource_type=resource.type,
                    resource_name=resource.name,
                    configs=[
                        changing.AlterableConfig(
                            name=change.name, config_operation=change.operation, value=change.value
                        )
                        for change in wanted
                    ],
                )
                for resource, wanted in changes.items()
            ],
            validate_only=validate_only,
        )

    def check(answer: changing.IncrementalAlterConfigsResponse) -> None:
        for result in answer.responses:
            raise_for(result.error_code, result.error_message)

    request, response = changing.INCREMENTAL_ALTER_CONFIGS_REQUEST, changing.INCREMENTAL_ALTER_CONFIGS_RESPONSE
    calls.to_node(_node_of(changes), Call("incrementalAlterConfigs", request, response, build, check))


def _node_of(resources: Iterable[ConfigResource]) -> int | None:
    """The broker that alone knows these resources; None when any broker does. Raises ValueError for a mixture."""
    owners = {
        int(resource.name)
        if resource.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and resource.name
        else None
        for resource in resources
    }
    if len(owners) > 1:
        raise ValueError("resources of different brokers cannot be described or altered in one call")
    return owners.pop() if owners else None
