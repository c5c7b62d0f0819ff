import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A link of a chain, as tests/interop/chains describes them, until SIGTERM.
 * Arguments: bootstrap, source topic, sink topic, group, transactional id, gate.
 */
public class ChainLink {
    private static final int FENCED = 3;
    private static final int ABORTED = 7;
    private static volatile boolean told = false;

    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;
    private final String sink;
    private final Path gate;
    private final Path held;

    private ChainLink(String[] args) {
        consumer = new KafkaConsumer<>(
                Map.of(
                        "bootstrap.servers", args[0],
                        "group.id", args[3],
                        "client.id", args[4],
                        "isolation.level", "read_committed",
                        "auto.offset.reset", "earliest",
                        "enable.auto.commit", false,
                        "session.timeout.ms", 3_000,
                        "heartbeat.interval.ms", 300,
                        "fetch.max.wait.ms", 100,
                        "max.poll.records", 20),
                new StringDeserializer(),
                new StringDeserializer());
        producer = new KafkaProducer<>(
                Map.of(
                        "bootstrap.servers", args[0],
                        "transactional.id", args[4],
                        "transaction.timeout.ms", 10_000,
                        "reconnect.backoff.max.ms", 500),
                new StringSerializer(),
                new StringSerializer());
        sink = args[2];
        gate = Path.of(args[5]);
        held = Path.of(args[5] + "-" + args[4]);
        consumer.subscribe(List.of(args[1]));
    }

    public static void main(String[] args) {
        Thread main = Thread.currentThread();
        Thread atTheEnd = new Thread(() -> {
            told = true;
            try {
                main.join();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        });
        Runtime.getRuntime().addShutdownHook(atTheEnd);
        ChainLink link = new ChainLink(args);
        try {
            link.run();
        } catch (KafkaException fenced) {
            System.out.println(fenced);
            Runtime.getRuntime().halt(FENCED);
        }
    }

    private void run() {
        producer.initTransactions();
        for (int number = 1; !told; ) {
            ConsumerRecords<String, String> polled = consumer.poll(Duration.ofMillis(200));
            if (!polled.isEmpty() && !carried(polled, number++ % ABORTED == 0)) rewind();
        }
        consumer.close();
        producer.close();
    }

    /** Whether the transaction was committed. An abort throws where nothing can be done but begin anew. */
    private boolean carried(ConsumerRecords<String, String> polled, boolean aborts) {
        producer.beginTransaction();
        try {
            Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
            for (var record : polled) {
                producer.send(new ProducerRecord<>(sink, record.partition(), null, "copy of " + record.value()));
                ends.put(
                        new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1, record.leaderEpoch(), ""));
            }
            producer.sendOffsetsToTransaction(ends, consumer.groupMetadata());
            waitAtTheGate();
            if (!aborts) {
                commit();
                return true;
            }
        } catch (KafkaException error) {
            System.out.println("aborts: " + error);
        }
        producer.abortTransaction();
        return false;
    }

    private void waitAtTheGate() {
        if (!Files.exists(gate)) return;
        producer.flush();
        try {
            Files.writeString(held, "");
            while (Files.exists(gate)) Thread.sleep(20);
        } catch (IOException | InterruptedException failed) {
            throw new IllegalStateException(failed);
        }
    }

    private void commit() {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException unknown) {
                System.out.println("asks again: " + unknown);
            }
        }
    }

    private void rewind() {
        var committed = consumer.committed(consumer.assignment());
        for (var entry : committed.entrySet()) {
            long offset = entry.getValue() == null ? 0 : entry.getValue().offset();
            consumer.seek(entry.getKey(), offset);
        }
    }
}
