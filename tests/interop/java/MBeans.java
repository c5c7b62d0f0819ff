import java.util.Comparator;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Lists Kafka's MBeans of another process. Arguments: the port of its JMX agent on 127.0.0.1.
 * A line each: domain, then key=value for each property, then name:value for each attribute, all parted by tabs.
 * Values that are no numbers are left out.
 */
public class MBeans {
    public static void main(String[] args) throws Exception {
        String address = "127.0.0.1:" + args[0];
        JMXServiceURL url = new JMXServiceURL("service:jmx:rmi://" + address + "/jndi/rmi://" + address + "/jmxrmi");
        try (var connector = JMXConnectorFactory.connect(url)) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            for (ObjectName name : server.queryNames(new ObjectName("kafka*:*"), null).stream()
                    .sorted(Comparator.comparing(ObjectName::getCanonicalName)).toList()) {
                Stream<String> properties = name.getKeyPropertyList().entrySet().stream()
                        .sorted(Map.Entry.comparingByKey()).map(entry -> entry.getKey() + "=" + plain(entry.getValue()));
                String[] names = Stream.of(server.getMBeanInfo(name).getAttributes())
                        .map(MBeanAttributeInfo::getName).toArray(String[]::new);
                Stream<String> attributes = server.getAttributes(name, names).asList().stream()
                        .map(each -> each.getName() + ":" + (each.getValue() instanceof Number ? each.getValue() : ""))
                        .sorted();
                System.out.println(Stream.of(Stream.of(name.getDomain()), properties, attributes)
                        .flatMap(part -> part).collect(Collectors.joining("\t")));
            }
        }
    }

    private static String plain(String value) {
        return value.startsWith("\"") ? ObjectName.unquote(value) : value;
    }
}
