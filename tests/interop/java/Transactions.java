import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Calls that a transactional producer must refuse, and what it says: a line for each. Arguments: bootstrap, topic.
 */
public class Transactions {
    interface Call {
        void run() throws Exception;
    }

    static String bootstrap;
    static String topic;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        topic = args[1];
        try (var plain = producer(Map.of())) {
            say("idempotent init", plain::initTransactions);
        }
        try (var plain = producer(Map.of("enable.idempotence", false))) {
            say("plain begin", plain::beginTransaction);
        }
        say("no idempotence", () -> producer(Map.of("transactional.id", "x", "enable.idempotence", false)));
        say("acks", () -> producer(Map.of("transactional.id", "x", "acks", "1")));
        say("too long", () -> {
            try (var producer = producer(Map.of("transactional.id", "java-long", "transaction.timeout.ms", 1_000_000))) {
                producer.initTransactions();
            }
        });
        var first = producer(Map.of("transactional.id", "java-wrong", "client.id", "wrong"));
        say("begin before init", first::beginTransaction);
        say("send before init", () -> first.send(new ProducerRecord<>(topic, 0, null, "v")));
        first.initTransactions();
        say("init again", first::initTransactions);
        say("send outside", () -> first.send(new ProducerRecord<>(topic, 0, null, "v")));
        say("commit outside", first::commitTransaction);
        say("abort outside", first::abortTransaction);
        say("offsets outside", () -> first.sendOffsetsToTransaction(offsets(), new ConsumerGroupMetadata("g")));
        first.beginTransaction();
        say("begin again", first::beginTransaction);
        say("a large record", () -> first.send(new ProducerRecord<>(topic, 0, null, "v".repeat(2_000_000))).get());
        say("commit after it", first::commitTransaction);
        first.abortTransaction();
        first.beginTransaction();
        say("a stranger's offsets", () ->
                first.sendOffsetsToTransaction(offsets(), new ConsumerGroupMetadata("g", 1, "nobody", java.util.Optional.empty())));
        first.abortTransaction();
        first.beginTransaction();
        first.send(new ProducerRecord<>(topic, 0, null, "v")).get();
        var second = producer(Map.of("transactional.id", "java-wrong"));
        second.initTransactions();
        say("send when fenced", () -> first.send(new ProducerRecord<>(topic, 0, null, "v")).get());
        say("abort when fenced", first::abortTransaction);
        say("after the end", first::beginTransaction);
        say("send after the end", () -> first.send(new ProducerRecord<>(topic, 0, null, "v")).get());
        first.close();
        say("closed", first::beginTransaction);
        second.close();
    }

    static Map<TopicPartition, OffsetAndMetadata> offsets() {
        return Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1));
    }

    static KafkaProducer<String, String> producer(Map<String, Object> more) {
        var config = new HashMap<String, Object>(more);
        config.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    static void say(String what, Call call) {
        String said = "-";
        try {
            call.run();
        } catch (ExecutionException error) {
            said = "future " + text(error.getCause());
        } catch (Exception error) {
            said = text(error);
        }
        System.out.println(what + ": " + said);
    }

    static String text(Throwable error) {
        var cause = error.getCause();
        return error + (cause == null || cause instanceof ExecutionException ? "" : " <- " + cause);
    }
}
