"""Estimates the compression ratio of a topic's records from the batches sent so far.

Role        Pure.
Invariants  A batch larger than estimated raises the estimate at once; better ones lower it slowly.
Source      Kafka 3.9 CompressionRatioEstimator.
"""

from __future__ import annotations

from typing import Final

from kafka_zk.record.compression import Codec

MARGIN: Final = 1.05
_IMPROVING_STEP: Final = 0.005
_DETERIORATE_STEP: Final = 0.05


class CompressionRatios:
    """One estimate per topic; 1.0 at first."""

    def __init__(self, codec: Codec) -> None:
        self._is_compressing = codec is not Codec.NONE
        self._ratios: dict[str, float] = {}

    def ratio_of(self, topic: str) -> float:
        """The estimate for a batch being filled, with some margin."""
        return self._ratios.get(topic, 1.0) * MARGIN if self._is_compressing else 1.0

    def saw(self, topic: str, observed: float) -> None:
        """A batch was compressed to `observed` of its size."""
        estimate = self._ratios.get(topic, 1.0)
        if observed > estimate:
            self._ratios[topic] = max(estimate + _DETERIORATE_STEP, observed)
        elif observed < estimate:
            self._ratios[topic] = max(estimate - _IMPROVING_STEP, observed)

    def reset(self, topic: str) -> None:
        """A batch had to be split: it was too large."""
        self._ratios[topic] = max(1.0, self._ratios.get(topic, 1.0))
