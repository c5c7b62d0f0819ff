"""A record's future, after its batch was split: whoever asks, and however many at once, gets one answer."""

from __future__ import annotations

from kafka_zk.client.producer.futures import BatchResult, RecordFuture


class AskedMeanwhile(list[tuple[int, BatchResult]]):
    """Parts of a batch; when they are looked at, another thread has the same future answered first."""

    def __init__(self, *parts: tuple[int, BatchResult]) -> None:
        super().__init__(parts)
        self.others: list[RecordFuture] = []

    def __bool__(self) -> bool:
        if self.others:
            self.others.pop().exception(0)
        return len(self) > 0


def test_two_threads_may_wait_for_one_record_of_a_batch_that_was_split() -> None:
    whole, first, second = (BatchResult("t", 0) for _ in range(3))
    first.base_offset, second.base_offset = 40, 70
    for each in (first, second, whole):
        each.settle()
    parts = AskedMeanwhile((0, first), (2, second))
    whole.parts = parts
    future = RecordFuture(whole, 3, 0, -1, -1)
    parts.others.append(future)
    assert future.result(0).offset == 71
    assert future.done()
