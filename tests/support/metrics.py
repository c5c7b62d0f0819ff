"""The Prometheus end point of a running broker, as a scraper sees it."""

from __future__ import annotations

import re
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from tests.support.broker import OurBroker


class Scrape:
    """One page of series."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=60) as page:
            text = page.read().decode()
        self._samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def series(self) -> list[tuple[str, dict[str, str]]]:
        """The names and labels of Kafka's series; those of the process itself are left out."""
        return [(each.name, each.labels) for each in self._samples if each.name.startswith("kafka")]

    def values(self, name: str, **labels: str) -> list[float]:
        """The values of the series called `name` that carry all of `labels`."""
        return [each.value for each in self._samples if each.name == name and labels.items() <= each.labels.items()]

    def exactly(self, name: str, labels: dict[str, str]) -> list[float]:
        """The values of the series called `name` that carry `labels` and no other."""
        return [each.value for each in self._samples if each.name == name and each.labels == labels]

    def value(self, name: str, **labels: str) -> float:
        """The one value; fails when there is none or there are several."""
        (found,) = self.values(name, **labels)
        return found


def metrics_port(broker: OurBroker) -> int:
    """The port that kafka_zk.metrics.port=0 was given."""
    found = re.findall(r"Serving metrics on port (\d+)", broker.process.output())
    return int(found[-1])
