import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * What Java's producer writes, for other consumers to read: a topic for each codec (headers, nulls, an empty value), and
 * one with transactions: committed, aborted, committed. Arguments: bootstrap.
 */
public class Written {
    public static void main(String[] args) throws Exception {
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            try (var producer = producer(args[0], Map.of("compression.type", codec, "linger.ms", 1000))) {
                for (int i = 0; i < 20; i++) {
                    List<Header> headers = new ArrayList<>();
                    for (int j = 0; j < i % 3; j++) headers.add(new RecordHeader("h", j == 0 ? null : "é".getBytes("UTF-8")));
                    String key = i % 4 == 0 ? null : "key " + i;
                    String value = i % 5 == 0 ? null : "value ".repeat(i);
                    producer.send(new ProducerRecord<>("codec-" + codec, 0, 1000L + i, key, value, headers));
                }
            }
        }
        try (var producer = producer(args[0], Map.of("transactional.id", "tx"))) {
            producer.initTransactions();
            for (int i = 0; i < 9; i++) {
                producer.beginTransaction();
                for (int j = 0; j < 3; j++) producer.send(new ProducerRecord<>("transactions", 0, null, "" + (3 * i + j)));
                producer.flush();  // what was not sent yet would never get there
                if (i % 3 == 1) producer.abortTransaction();
                else producer.commitTransaction();
            }
        }
    }

    private static KafkaProducer<String, String> producer(String bootstrap, Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(more);
        settings.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }
}
