import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * What a listener may do while its consumer is closed: a group for each way, and a line of what was heard, and of what
 * close() ended with. Arguments: bootstrap, topic, ways.
 */
public class Closing {
    public static void main(String[] args) {
        for (String way : List.of(args).subList(2, args.length)) System.out.println(way + " " + close(way, args));
    }

    static String close(String way, String[] args) {
        var partition = new TopicPartition(args[1], 0);
        var offsets = Map.of(partition, new OffsetAndMetadata(2));
        List<String> heard = new ArrayList<>();
        var consumer = new KafkaConsumer<String, String>(
                Map.of(
                        "bootstrap.servers", args[0],
                        "group.id", "java-" + way,
                        "auto.offset.reset", "earliest",
                        "enable.auto.commit", false),
                new StringDeserializer(),
                new StringDeserializer());
        consumer.subscribe(List.of(args[1]), new ConsumerRebalanceListener() {
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                heard.add("revoked");
                if (way.equals("wakeup")) consumer.wakeup();
                if (way.equals("fails")) throw new IllegalArgumentException("of the program");
                if (way.equals("async")) consumer.commitAsync(offsets, (of, error) -> heard.add("committed " + error));
                else if (way.equals("position")) heard.add("position " + consumer.position(partition));
                else consumer.commitSync(offsets);
                if (way.equals("again") && heard.size() == 1) consumer.close();
            }

            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {}
        });
        while (consumer.assignment().isEmpty() || consumer.position(partition) < 3) consumer.poll(Duration.ofMillis(100));
        try {
            consumer.close();
            heard.add("closed");
        } catch (Exception error) {
            heard.add(error.getClass().getSimpleName());
        }
        return String.join(", ", heard);
    }
}
