import java.util.ArrayList;
import java.util.Random;
import java.util.function.Supplier;

import kafka.server.QuotaType;
import kafka.server.ReplicationQuotaManager;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.server.config.ReplicationQuotaManagerConfig;

/**
 * Prints what Kafka's own ReplicationQuotaManager counts and decides, with a clock that moves only when told.
 * tests/golden/quotas/replication.txt is its output. A line: samples, their seconds, then for each step the pause
 * before it, what is done (a check, bytes that are recorded, or a new rate), whether the quota is exceeded and the rate.
 */
public class ReplicationThrottles {
    private static final int RUNS = 12, STEPS = 120;
    private static final int[][] WINDOWS = {{11, 1}, {2, 1}, {3, 2}};

    private static class SetTime implements Time {
        private long now = 1_000_000;
        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { now += ms; }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) { }
        public Timer timer(long ms) { return null; }
    }

    public static void main(String[] arguments) {
        Random random = new Random(73);
        for (int run = 0; run < RUNS; run++)
            System.out.println(run(WINDOWS[run % WINDOWS.length], random));
        System.exit(0);
    }

    private static String run(int[] windows, Random random) {
        SetTime time = new SetTime();
        Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), time, true);
        ReplicationQuotaManager manager = new ReplicationQuotaManager(
            new ReplicationQuotaManagerConfig(windows[0], windows[1]), metrics, QuotaType.LeaderReplication$.MODULE$, time);
        manager.updateQuota(Quota.upperBound(1000));
        StringBuilder line = new StringBuilder(windows[0] + " " + windows[1]);
        for (int step = 0; step < STEPS; step++) {
            int pause = random.nextInt(10) == 0 ? random.nextInt(20000) : random.nextInt(700);
            time.now += pause;
            int kind = random.nextInt(10);
            String done = "check";
            if (kind == 0) {
                int rate = random.nextInt(2000);
                manager.updateQuota(Quota.upperBound(rate));
                done = "rate=" + rate;
            } else if (kind < 7) {
                int bytes = random.nextInt(1500);
                manager.record(bytes);
                done = "bytes=" + bytes;
            }
            boolean exceeded = manager.isQuotaExceeded();
            line.append(" " + pause + "," + done + "," + exceeded + "," + rate(metrics));
        }
        return line.toString();
    }

    private static double rate(Metrics metrics) {
        for (KafkaMetric metric : metrics.metrics().values())
            if (metric.metricName().name().equals("byte-rate"))
                return (Double) metric.metricValue();
        throw new IllegalStateException("no rate");
    }
}
