from kafka_zk.client.consumer.record_decoding import decode_batch as decode_batch
