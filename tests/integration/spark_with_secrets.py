"""A program of test_spark_secrets: queries of all four kinds on a broker behind TLS, in a Spark that logs all it can.

Arguments: bootstrap servers, a folder, and JSON of the options that hold secrets inline and of those that name a file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kafka_zk.spark.cli.session import make_session


def main() -> None:
    bootstrap, folder, inline, named = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]), json.loads(sys.argv[4])
    (folder / "events").mkdir()
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(folder / "events"),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.driver.extraJavaOptions": "",
    }
    spark = make_session("secrets", "local[2]", conf)
    spark.sparkContext.setLogLevel("DEBUG")
    where = {"kafka.bootstrap.servers": bootstrap}
    rows = spark.range(10).selectExpr("CAST(id AS STRING) AS value")
    for options in (inline, named):
        rows.write.format("kafka_zk").options(**where, **options, topic="t").mode("append").save()
        read = spark.read.format("kafka_zk").options(**where, **options, subscribe="t").load()
        read.explain("formatted")
        read.explain(True)
        print(f"there are {read.count()}", flush=True)
        stream = spark.readStream.format("kafka_zk").options(
            **where, **options, subscribe="t", startingOffsets="earliest"
        )
        copy = (
            stream.load().selectExpr("value", "'u' AS topic").writeStream.format("kafka_zk").options(**where, **options)
        )
        checkpoint = str(folder / f"checkpoint-{len(options)}")
        query = copy.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        query.explain(True)
        print(query.lastProgress, flush=True)
    copied = spark.read.format("kafka_zk").options(**where, **named, subscribe="u").load()
    print(f"copied {copied.count()}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
