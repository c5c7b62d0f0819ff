import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * One member of a group until it is told to end (SIGTERM): it says what it owns whenever that changes, and what it reads.
 * Arguments: bootstrap, topic, group, assignor class.
 */
public class GroupMember {
    public static void main(String[] args) {
        var consumer = new KafkaConsumer<String, String>(
                Map.of(
                        "bootstrap.servers", args[0],
                        "group.id", args[2],
                        "partition.assignment.strategy", args[3],
                        "auto.offset.reset", "earliest",
                        "enable.auto.commit", false,
                        "heartbeat.interval.ms", 100),
                new StringDeserializer(),
                new StringDeserializer());
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                main.join();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }));
        TreeSet<String> owned = new TreeSet<>();
        consumer.subscribe(List.of(args[1]), new ConsumerRebalanceListener() {
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                partitions.forEach(partition -> owned.remove(partition.toString()));
                System.out.println("owns " + String.join(",", owned));
            }

            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                partitions.forEach(partition -> owned.add(partition.toString()));
                System.out.println("owns " + String.join(",", owned));
            }
        });
        try {
            while (true) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) System.out.println("read " + record.value());
                consumer.commitAsync();
            }
        } catch (WakeupException told) {
            consumer.close();
        }
    }
}
