import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** Answers questions, one a line: `name HEX` with X500Principal.getName(), `rule RULES TAB NAME` with SslPrincipalMapper. */
public class Answers {
    public static void main(String[] arguments) throws Exception {
        List<String> answers = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]), StandardCharsets.UTF_8)) {
            String question = line.substring(5);
            answers.add(line.startsWith("name ") ? name(question) : rule(question.split("\t", -1)));
        }
        // A name may hold the end of a line; a NUL it shows as \\00.
        Files.writeString(Path.of(arguments[1]), String.join("\0", answers) + "\0", StandardCharsets.UTF_8);
    }

    private static String name(String hex) {
        return new X500Principal(HexFormat.of().parseHex(hex)).getName();
    }

    private static String rule(String[] question) {
        try {
            return "= " + SslPrincipalMapper.fromRules(question[0]).getName(question[1]);
        } catch (Exception error) {
            return "! " + error.getMessage();
        }
    }
}
