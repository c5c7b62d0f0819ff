import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs one of Apache's command-line tools many times in one virtual machine: a second and a half saved each time.
 *
 * ToolRuns CLASS FILE: each line of FILE is one run, its arguments separated by tabs. For each run one line is printed:
 * exit code, stdout and stderr, the two in base64. A tool that exits is held there for good, in a thread of its own.
 * What the run with the number N reads from standard input is in FILE.N; where there is no such file it is empty.
 */
public class ToolRuns {
    private static volatile CompletableFuture<Integer> exit;

    public static void main(String[] arguments) throws Exception {
        Exit.setExitProcedure(ToolRuns::hold);
        Exit.setHaltProcedure(ToolRuns::hold);
        PrintStream results = System.out;
        // Scala's Console keeps the System.out that it met first.
        Target outTarget = new Target();
        Target errTarget = new Target();
        System.setOut(new PrintStream(outTarget, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(errTarget, true, StandardCharsets.UTF_8));
        var main = Class.forName(arguments[0]).getMethod("main", String[].class);
        int number = 0;
        for (String line : Files.readAllLines(Path.of(arguments[1]))) {
            Path input = Path.of(arguments[1] + "." + number++);
            System.setIn(Files.exists(input) ? Files.newInputStream(input) : InputStream.nullInputStream());
            String[] given = line.isEmpty() ? new String[0] : line.split("\t", -1);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            outTarget.current = out;
            errTarget.current = err;
            exit = new CompletableFuture<>();
            Thread run = new Thread(() -> {
                try {
                    main.invoke(null, (Object) given);
                    exit.complete(0);
                } catch (Throwable thrown) {
                    System.err.print("Exception in thread \"main\" ");
                    thrown.getCause().printStackTrace();
                    exit.complete(1);
                }
            });
            run.setDaemon(true);
            run.start();
            int code = exit.get();
            System.out.flush();
            System.err.flush();
            results.println(code + " " + encode(out) + " " + encode(err));
            results.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** Where a stream that never changes leads to at the time. */
    private static final class Target extends OutputStream {
        private volatile OutputStream current = OutputStream.nullOutputStream();

        @Override
        public void write(int octet) throws IOException {
            current.write(octet);
        }

        @Override
        public void write(byte[] octets, int start, int count) throws IOException {
            current.write(octets, start, count);
        }
    }

    private static void hold(int code, String message) {
        exit.complete(code);
        while (true) {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException ignored) {
                continue;
            }
        }
    }

    private static String encode(ByteArrayOutputStream text) {
        return "=" + Base64.getEncoder().encodeToString(text.toString(StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_8));
    }
}
