from kafka_zk.record.columns.builder import ColumnBuilder as ColumnBuilder
