import java.io.FileReader;
import java.io.Reader;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Prints how each call of a client ends that may not do it: Denied properties topic foreign group described. */
public class Denied {
    static Properties login;

    interface Call {
        void make() throws Exception;
    }

    static void attempt(String name, Call call) {
        try {
            call.make();
            System.out.println(name + ": nothing");
        } catch (java.util.concurrent.ExecutionException error) {
            System.out.println(name + ": " + error.getCause().getClass().getName() + ": " + error.getCause().getMessage());
        } catch (Exception error) {
            System.out.println(name + ": " + error.getClass().getName() + ": " + error.getMessage());
        }
    }

    static KafkaConsumer<String, String> consumer(String group) {
        Properties own = new Properties();
        own.putAll(login);
        own.put("group.id", group);
        own.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(own, new StringDeserializer(), new StringDeserializer());
    }

    public static void main(String[] arguments) throws Exception {
        login = new Properties();
        try (Reader reader = new FileReader(arguments[0])) {
            login.load(reader);
        }
        String topic = arguments[1], foreign = arguments[2], group = arguments[3], described = arguments[4];
        TopicPartition own = new TopicPartition(topic, 0), other = new TopicPartition(foreign, 0);
        Map<TopicPartition, OffsetAndMetadata> one = Map.of(own, new OffsetAndMetadata(1));
        Duration patience = Duration.ofSeconds(20);
        try (KafkaConsumer<String, String> consumer = consumer(foreign)) {
            consumer.subscribe(List.of(topic));
            attempt("find", () -> consumer.poll(patience));
            consumer.unsubscribe();
            attempt("commit of a foreign group", () -> consumer.commitSync(one));
            attempt("committed of a foreign group", () -> consumer.committed(Set.of(own)));
        }
        try (KafkaConsumer<String, String> consumer = consumer(described)) {
            consumer.subscribe(List.of(topic));
            attempt("join", () -> consumer.poll(patience));
            consumer.unsubscribe();
            attempt("commit", () -> consumer.commitSync(one));
        }
        try (KafkaConsumer<String, String> consumer = consumer(group)) {
            attempt("commit of a topic", () -> consumer.commitSync(Map.of(other, new OffsetAndMetadata(1))));
            attempt("committed of a topic", () -> consumer.committed(Set.of(other)));
            attempt("partitions", () -> consumer.partitionsFor(foreign));
            attempt("ends", () -> consumer.endOffsets(Set.of(other)));
            consumer.assign(Set.of(other));
            attempt("poll", () -> consumer.poll(patience));
        }
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(login, new StringSerializer(), new StringSerializer())) {
            attempt("send", () -> producer.send(new ProducerRecord<>(foreign, "x")).get());
            attempt("send to what may be described", () -> producer.send(new ProducerRecord<>(described, "x")).get());
        }
    }
}
