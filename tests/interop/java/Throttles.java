import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Random;
import java.util.function.Supplier;

import kafka.server.ClientQuotaManager;
import kafka.server.ClientRequestQuotaManager;
import kafka.server.ControllerMutationQuota;
import kafka.server.ControllerMutationQuotaManager;
import kafka.server.QuotaType;
import org.apache.kafka.common.errors.ThrottlingQuotaExceededException;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import scala.Option;

/**
 * Prints what Kafka's own quota managers say to random use, with a clock that moves only when told.
 * tests/golden/quotas/throttles.txt is its output; tests/unit/security says how its lines read.
 */
public class Throttles {
    private static final ClientQuotaManagerConfig WINDOWS = new ClientQuotaManagerConfig(11, 1);
    private static final String DEFAULT = "<default>";
    /** User and client id of each kind of entity, the most particular first; empty: not part of the entity. */
    private static final String[][] ENTITIES = {
        {"u", "c"}, {"u", DEFAULT}, {"u", ""}, {DEFAULT, "c"}, {DEFAULT, DEFAULT}, {DEFAULT, ""}, {"", "c"}, {"", DEFAULT}};

    private static class SetTime implements Time {
        private long now = 1_000_000;
        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { now += ms; }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) { }
        public Timer timer(long ms) { return null; }
    }

    public static void main(String[] arguments) throws Exception {
        Random random = new Random(7);
        for (String kind : new String[] {"Produce", "Request"})
            for (int run = 0; run < 6; run++)
                System.out.println(rates(kind, random));
        for (int run = 0; run < 4; run++)
            System.out.println(tokens(run < 2, run % 2 == 0 ? 2 : 0.5, random));
        for (String[] who : new String[][] {{"u", "c"}, {"u", "d"}, {"v", "c"}, {"v", "d"}})
            System.out.println(precedence(who[0], who[1]));
        System.exit(0);
    }

    private static Metrics metrics(Time time) {
        return new Metrics(new MetricConfig(), new ArrayList<>(), time, true);
    }

    private static Session session() {
        return new Session(new KafkaPrincipal("User", "ANONYMOUS"), InetAddress.getLoopbackAddress());
    }

    private static void setQuota(ClientQuotaManager manager, String user, String client, double bound) {
        Option<String> some = client.isEmpty() ? Option.empty() : Option.apply(client);
        manager.updateQuota(user.isEmpty() ? Option.empty() : Option.apply(user), some, some,
            Option.apply(new Quota(bound, true)));
    }

    private static String rates(String kind, Random random) {
        boolean ofTime = kind.equals("Request");
        SetTime time = new SetTime();
        ClientQuotaManager manager = ofTime
            ? new ClientRequestQuotaManager(WINDOWS, metrics(time), time, "p", Option.empty())
            : new ClientQuotaManager(WINDOWS, metrics(time), QuotaType.Produce$.MODULE$, time, "p", Option.empty());
        double bound = ofTime ? 5 : 1000;
        setQuota(manager, "", "c", bound);
        StringBuilder line = new StringBuilder(kind + " " + bound);
        for (int i = 0; i < 60; i++) {
            int pause = random.nextInt(10) == 0 ? random.nextInt(20000) : random.nextInt(900);
            double used = ofTime ? random.nextInt(2000) / 100.0 : random.nextInt(1500);
            time.now += pause;
            int throttle = manager.recordAndGetThrottleTimeMs(session(), "c", used, time.now);
            line.append(" " + pause + "," + used + "," + throttle);
            if (throttle > 0 && random.nextInt(3) == 0) {
                time.now += throttle;
                line.append("+");
            }
        }
        return line.toString();
    }

    private static String tokens(boolean strict, double bound, Random random) {
        SetTime time = new SetTime();
        ControllerMutationQuotaManager manager =
            new ControllerMutationQuotaManager(WINDOWS, metrics(time), time, "p", Option.empty());
        setQuota(manager, "", "c", bound);
        StringBuilder line = new StringBuilder((strict ? "Strict " : "Permissive ") + bound);
        for (int i = 0; i < 50; i++) {
            int pause = random.nextInt(3000);
            time.now += pause;
            ControllerMutationQuota quota =
                strict ? manager.newStrictQuotaFor(session(), "c") : manager.newPermissiveQuotaFor(session(), "c");
            int count = 1 + random.nextInt(12);
            String outcome = "ok";
            try {
                quota.record(count);
            } catch (ThrottlingQuotaExceededException e) {
                outcome = "no" + e.throttleTimeMs();
            }
            time.now += 100;
            line.append(" " + pause + "," + count + "," + outcome + "," + quota.throttleTime());
        }
        return line.toString();
    }

    /** For each set of entities with a quota (a bit each) the number of the entity whose quota holds, - for none. */
    private static String precedence(String user, String client) {
        StringBuilder line = new StringBuilder("Precedence " + user + "," + client + " ");
        for (int set = 0; set < 1 << ENTITIES.length; set++) {
            SetTime time = new SetTime();
            ClientQuotaManager manager =
                new ClientQuotaManager(WINDOWS, metrics(time), QuotaType.Produce$.MODULE$, time, "p", Option.empty());
            for (int i = 0; i < ENTITIES.length; i++)
                if ((set >> i & 1) == 1)
                    setQuota(manager, ENTITIES[i][0], ENTITIES[i][1], i);
            double bound = manager.quota(user, client).bound();
            line.append(bound < ENTITIES.length ? Integer.toString((int) bound) : "-");
            manager.shutdown();
        }
        return line.toString();
    }
}
