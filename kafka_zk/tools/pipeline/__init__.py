"""kafka-pipeline.sh."""
