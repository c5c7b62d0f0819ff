"""Several brokers on one machine, out of one folder: what kafka-cluster-up, -down and -restart share."""
