import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.StringReader;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Reads lines "TOPIC VALUE PROPERTIES" (in base64); writes and reads the value, prints it or the error's texts. */
public class Logins {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ");
            Properties properties = new Properties();
            properties.load(new StringReader(new String(Base64.getDecoder().decode(words[2]))));
            System.out.println(writeAndRead(words[0], words[1], properties));
        }
    }

    private static String writeAndRead(String topic, String value, Properties properties) {
        try {
            try (KafkaProducer<String, String> producer =
                    new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
                producer.send(new ProducerRecord<>(topic, value)).get();
            }
            try (KafkaConsumer<String, String> consumer =
                    new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
                TopicPartition partition = new TopicPartition(topic, 0);
                consumer.assign(List.of(partition));
                consumer.seekToBeginning(List.of(partition));
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(20))) {
                    return record.value();
                }
                return "nothing was read";
            }
        } catch (Exception error) {
            StringBuilder told = new StringBuilder("error");
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                told.append(": ").append(cause.getMessage());
            }
            return told.toString().replace('\n', ' ');
        }
    }
}
