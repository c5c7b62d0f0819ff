"""What monitoring sees of the controller's channels to brokers."""


def shown(metrics, name, **tags):
    """The attributes of one of the channels' metrics, None where there is no such metric."""
    metric = metrics.find(f"kafka.controller:type=ControllerChannelManager,name={name}", **tags)
    return None if metric is None else metric.attributes()


def test_the_queue_of_each_broker_is_shown_while_it_lives_and_only_on_the_controller(cluster):
    metrics = cluster.members[1].metrics
    assert [shown(metrics, "QueueSize", **{"broker-id": each}) for each in (1, 2, 3)] == [{"Value": 0}] * 3
    cluster.brokers[3].is_up = False
    for topic in ("t", "u", "v"):
        cluster.create_topic(topic, {0: [1]})
        cluster.settle()
    # The first request to 3 is tried again and again; those behind it wait.
    waiting = shown(metrics, "QueueSize", **{"broker-id": 3})["Value"]
    assert waiting >= 2
    assert shown(metrics, "TotalQueueSize")["Value"] == waiting
    metrics.fold()
    taken = shown(metrics, "RequestRateAndQueueTimeMs", **{"broker-id": 3})["Count"]
    cluster.clock.advance(60)
    cluster.brokers[3].is_up = True
    cluster.clock.advance(60)
    cluster.settle()
    assert shown(metrics, "TotalQueueSize") == {"Value": 0}
    metrics.fold()
    times = shown(metrics, "RequestRateAndQueueTimeMs", **{"broker-id": 3})
    assert times["Count"] == taken + waiting
    assert times["Max"] == 120
    assert times["LatencyUnit"] == "MILLISECONDS"

    cluster.crash(3)
    cluster.settle()
    assert shown(metrics, "QueueSize", **{"broker-id": 3}) is None
    assert shown(metrics, "RequestRateAndQueueTimeMs", **{"broker-id": 3}) is None
    assert shown(metrics, "QueueSize", **{"broker-id": 2}) is not None
    assert shown(cluster.members[2].metrics, "QueueSize", **{"broker-id": 2}) is None
    assert shown(cluster.members[2].metrics, "TotalQueueSize") == {"Value": 0}
