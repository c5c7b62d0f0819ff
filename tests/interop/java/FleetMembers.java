import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Members of one or more groups until they are told to end (SIGTERM). They commit what they have read when partitions
 * are taken from them, so that between clean rebalances nobody reads a record twice. What they say is described in
 * tests/interop/members. Arguments: bootstrap, topic, name, session timeout in ms, and for each group
 * group:assignor:members:instance, the last empty for dynamic members.
 */
public class FleetMembers {
    private static final Map<String, String> ASSIGNORS = Map.of(
            "range", "RangeAssignor",
            "roundrobin", "RoundRobinAssignor",
            "sticky", "StickyAssignor",
            "cooperative-sticky", "CooperativeStickyAssignor");
    private static volatile boolean told;

    public static void main(String[] args) {
        List<Thread> members = new ArrayList<>();
        for (String spec : List.of(args).subList(4, args.length)) {
            String[] parts = spec.split(":", -1);
            for (int i = 0; i < Integer.parseInt(parts[2]); i++) {
                String speaker = parts[0] + " " + args[2] + "-" + i;
                Map<String, Object> settings = new HashMap<>(Map.of(
                        "bootstrap.servers", args[0],
                        "group.id", parts[0],
                        "client.id", args[2] + "-" + i,
                        "partition.assignment.strategy", "org.apache.kafka.clients.consumer." + ASSIGNORS.get(parts[1]),
                        "auto.offset.reset", "earliest",
                        "enable.auto.commit", false,
                        "session.timeout.ms", args[3],
                        "fetch.max.wait.ms", 100,
                        "heartbeat.interval.ms", 200));
                if (!parts[3].isEmpty()) settings.put("group.instance.id", parts[3] + i);
                members.add(new Thread(() -> new FleetMembers(speaker, settings).live(args[1])));
            }
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            told = true;
            for (Thread member : members) {
                try {
                    member.join();
                } catch (InterruptedException ended) {
                    return;
                }
            }
        }));
        members.forEach(Thread::start);
    }

    private final String speaker;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
    private final TreeSet<Integer> owned = new TreeSet<>();

    private FleetMembers(String speaker, Map<String, Object> settings) {
        this.speaker = speaker;
        this.consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private void live(String topic) {
        consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                commit(partitions);
                onPartitionsLost(partitions);
            }

            public void onPartitionsLost(Collection<TopicPartition> partitions) {
                partitions.forEach(partition -> owned.remove(partition.partition()));
                read.keySet().removeAll(partitions);
                sayOwned();
            }

            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                partitions.forEach(partition -> owned.add(partition.partition()));
                sayOwned();
            }
        });
        while (!told) {
            var records = consumer.poll(Duration.ofMillis(100));
            for (TopicPartition partition : records.partitions()) {
                var some = records.records(partition);
                long last = some.get(some.size() - 1).offset();
                say("read " + partition.partition() + " " + some.get(0).offset() + " " + last);
                read.put(partition, new OffsetAndMetadata(last + 1, speaker));
            }
            if (!records.isEmpty()) consumer.commitAsync(Map.copyOf(read), null);
        }
        commit(owned.stream().map(partition -> new TopicPartition(topic, partition)).toList());
        consumer.close();
        say("left");
    }

    private void commit(Collection<TopicPartition> partitions) {
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>(read);
        ends.keySet().retainAll(partitions);
        try {
            consumer.commitSync(ends);
        } catch (CommitFailedException | RebalanceInProgressException refused) {
            say("refused " + refused.getClass().getSimpleName());
        }
    }

    private void sayOwned() {
        say("owns " + String.join(",", owned.stream().map(String::valueOf).toList()));
    }

    private void say(String what) {
        System.out.println(speaker + " " + what);
    }
}
