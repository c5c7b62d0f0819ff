import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.URIParameter;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;

/** Reads lines "value TEXT" and "file SECTION TEXT" (texts in base64); prints the modules found, or the error. */
public class Jaas {
    public static void main(String[] arguments) throws Exception {
        Constructor<?> ofValue = Class.forName("org.apache.kafka.common.security.JaasConfig")
            .getDeclaredConstructor(String.class, String.class);
        ofValue.setAccessible(true);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ", -1);
            String text = decoded(words[words.length - 1]);
            try {
                if (words[0].equals("value")) {
                    show(((Configuration) ofValue.newInstance("section", text)).getAppConfigurationEntry("section"));
                } else {
                    Path file = Files.createTempFile("jaas", ".conf");
                    Files.write(file, text.getBytes(StandardCharsets.UTF_8));
                    try {
                        show(Configuration.getInstance("JavaLoginConfig", new URIParameter(file.toUri()))
                            .getAppConfigurationEntry(words[1]));
                    } finally {
                        Files.delete(file);
                    }
                }
            } catch (Exception error) {
                Throwable cause = error;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                System.out.println("error " + encoded(String.valueOf(cause.getMessage())));
            }
        }
    }

    private static void show(AppConfigurationEntry[] entries) {
        if (entries == null) {
            System.out.println("none");
            return;
        }
        StringBuilder shown = new StringBuilder("modules");
        for (AppConfigurationEntry entry : entries) {
            String flag = entry.getControlFlag().toString();
            flag = flag.substring(flag.lastIndexOf(' ') + 1).toUpperCase();
            shown.append(' ').append(encoded(entry.getLoginModuleName())).append(',').append(flag);
            for (Map.Entry<String, ?> option : new TreeMap<>(entry.getOptions()).entrySet()) {
                shown.append(',').append(encoded(option.getKey())).append(':').append(encoded((String) option.getValue()));
            }
        }
        System.out.println(shown);
    }

    private static String decoded(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
