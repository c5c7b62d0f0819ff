import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.security.kerberos.KerberosName;
import org.apache.kafka.common.security.kerberos.KerberosShortNamer;

/** Reads lines "REALM RULES NAME" (each in base64, rules separated by commas); prints the short name, or the error. */
public class ShortNames {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ", -1);
            String shown;
            try {
                List<String> rules = Arrays.asList(decoded(words[1]).split(",", -1));
                KerberosShortNamer namer = KerberosShortNamer.fromUnparsedRules(decoded(words[0]), rules);
                shown = "name " + encoded(namer.shortName(KerberosName.parse(decoded(words[2]))));
            } catch (Exception error) {
                shown = "error " + encoded(String.valueOf(error.getMessage()));
            }
            System.out.println(shown);
        }
    }

    private static String decoded(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
