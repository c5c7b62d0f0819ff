"""Which brokers restarted while no controller looked."""

from __future__ import annotations

import pytest

from kafka_zk.controller.decisions.context import Leadership
from kafka_zk.controller.decisions.restarts import restarted_unseen
from kafka_zk.zk.znodes import BrokerRegistration


@pytest.mark.parametrize(
    ("epochs", "isr", "expected"),
    [
        ({1: 10, 2: 11}, (1, 2), []),
        ({1: 30, 2: 11}, (1, 2), [1]),
        ({1: 30, 2: 11}, (2,), []),  # It was out of the ISR before it came back.
        ({1: 30, 2: 31}, (1, 2), []),  # The whole cluster restarted: somebody has to lead.
        ({1: 30}, (1, 2), []),  # Nobody else is alive.
        ({1: 30, 2: 31, 3: 12}, (1, 2, 3), [1, 2]),
    ],
)
def test_a_member_that_registered_after_the_isr_was_written_restarted(
    epochs: dict[int, int], isr: tuple[int, ...], expected: list[int]
) -> None:
    brokers = {broker_id: BrokerRegistration(broker_id, (), epoch=epoch) for broker_id, epoch in epochs.items()}
    state = Leadership(leader=1, leader_epoch=3, isr=isr, controller_epoch=1, partition_epoch=7)
    assert restarted_unseen(brokers, [(state, 20)]) == expected
