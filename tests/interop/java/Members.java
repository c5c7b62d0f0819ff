import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Members of one group, polled in turn until they share the partitions evenly and have read everything. Arguments:
 * bootstrap, topic, partitions, records in all, group, assignor class, member count, "static" or "dynamic".
 */
public class Members {
    public static void main(String[] args) {
        String topic = args[1];
        int partitions = Integer.parseInt(args[2]);
        int total = Integer.parseInt(args[3]);
        int count = Integer.parseInt(args[6]);
        List<KafkaConsumer<String, String>> members = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Map<String, Object> settings = new HashMap<>(Map.of(
                    "bootstrap.servers", args[0],
                    "group.id", args[4],
                    "partition.assignment.strategy", args[5],
                    "auto.offset.reset", "earliest",
                    "enable.auto.commit", false,
                    "session.timeout.ms", 6000,
                    "heartbeat.interval.ms", 200));
            if (args[7].equals("static")) settings.put("group.instance.id", "instance-" + i);
            members.add(new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer()));
        }
        members.forEach(member -> member.subscribe(List.of(topic)));
        TreeSet<String> seen = new TreeSet<>();
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (!(seen.size() == total && shared(members, partitions))) {
            if (System.nanoTime() > deadline) throw new IllegalStateException("only " + seen.size() + " records");
            for (var member : members) {
                for (ConsumerRecord<String, String> record : member.poll(Duration.ofMillis(50))) {
                    seen.add(record.partition() + ":" + record.offset());
                }
            }
        }
        for (var member : members) {
            Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
            for (var end : member.endOffsets(member.assignment()).entrySet()) {
                ends.put(end.getKey(), new OffsetAndMetadata(end.getValue(), "by Java"));
            }
            member.commitSync(ends);
            member.close();
        }
        System.out.println("read " + seen.size());
    }

    private static boolean shared(List<KafkaConsumer<String, String>> members, int partitions) {
        return members.stream().allMatch(member -> member.assignment().size() == partitions / members.size());
    }
}
