import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Copies records byte for byte. Arguments: bootstrap, topic, record count; then for each copy its codec=topic. */
public class Copy {
    public static void main(String[] args) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> records = read(args[0], args[1], Integer.parseInt(args[2]));
        for (int i = 3; i < args.length; i++) {
            String[] codecAndTopic = args[i].split("=");
            write(args[0], codecAndTopic[0], codecAndTopic[1], records);
        }
        System.out.println("copied " + records.size());
    }

    private static List<ConsumerRecord<byte[], byte[]>> read(String bootstrap, String topic, int count) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "isolation.level", "read_committed");
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long deadline = System.nanoTime() + 30_000_000_000L;
            while (found.size() < count) {
                if (System.nanoTime() > deadline) throw new IllegalStateException("only " + found.size() + " records");
                consumer.poll(Duration.ofMillis(200)).forEach(found::add);
            }
        }
        return found;
    }

    private static void write(
            String bootstrap, String codec, String topic, List<ConsumerRecord<byte[], byte[]>> records)
            throws Exception {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", bootstrap, "compression.type", codec, "linger.ms", 5, "acks", "all");
        List<Future<RecordMetadata>> acknowledgements = new ArrayList<>();
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (var record : records) {
                acknowledgements.add(producer.send(new ProducerRecord<>(
                        topic, 0, record.timestamp(), record.key(), record.value(), record.headers())));
            }
        }
        for (int i = 0; i < acknowledgements.size(); i++) {
            if (acknowledgements.get(i).get().offset() != i) throw new IllegalStateException("not in order");
        }
    }
}
