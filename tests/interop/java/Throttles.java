import org.apache.kafka.common.metrics.*;
import org.apache.kafka.common.metrics.stats.*;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import java.util.*;
import java.net.InetAddress;

public class Throttles {
  static class FixedTime implements Time {
    long now = 1_000_000;
    public long milliseconds() { return now; }
    public long nanoseconds() { return now * 1_000_000; }
    public void sleep(long ms) { now += ms; }
    public void waitObject(Object o, java.util.function.Supplier<Boolean> c, long d) { }
    public org.apache.kafka.common.utils.Timer timer(long ms) { return null; }
  }
  public static void main(String[] a) throws Exception {
    Random random = new Random(7);
    for (String kind : new String[] {"Produce", "Request"}) {
      for (int run = 0; run < 6; run++) {
        FixedTime time = new FixedTime();
        Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), time, true);
        org.apache.kafka.server.config.ClientQuotaManagerConfig config = new org.apache.kafka.server.config.ClientQuotaManagerConfig(11, 1);
        kafka.server.ClientQuotaManager manager = kind.equals("Request")
          ? new kafka.server.ClientRequestQuotaManager(config, metrics, time, "p", scala.Option.empty())
          : new kafka.server.ClientQuotaManager(config, metrics, kafka.server.QuotaType.Produce$.MODULE$, time, "p", scala.Option.empty());
        double bound = kind.equals("Request") ? 5 : 1000;
        manager.updateQuota(scala.Option.empty(), scala.Option.apply("c"), scala.Option.apply("c"), scala.Option.apply(new Quota(bound, true)));
        org.apache.kafka.network.Session session = new org.apache.kafka.network.Session(new KafkaPrincipal("User", "ANONYMOUS"), InetAddress.getLoopbackAddress());
        StringBuilder line = new StringBuilder(kind + " " + bound);
        for (int i = 0; i < 60; i++) {
          int gap = random.nextInt(10) == 0 ? random.nextInt(20000) : random.nextInt(900);
          double value = kind.equals("Request") ? random.nextInt(2000) / 100.0 : random.nextInt(1500);
          time.now += gap;
          int throttle = manager.recordAndGetThrottleTimeMs(session, "c", value, time.now);
          line.append(" " + gap + "," + value + "," + throttle);
          if (throttle > 0 && random.nextInt(3) == 0) { time.now += throttle; line.append("+"); }
        }
        System.out.println(line);
        manager.shutdown();
        metrics.close();
      }
    }
    for (int run = 0; run < 4; run++) {
      FixedTime time = new FixedTime();
      Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), time, true);
      kafka.server.ControllerMutationQuotaManager manager = new kafka.server.ControllerMutationQuotaManager(new org.apache.kafka.server.config.ClientQuotaManagerConfig(11, 1), metrics, time, "p", scala.Option.empty());
      double bound = run % 2 == 0 ? 2 : 0.5;
      manager.updateQuota(scala.Option.empty(), scala.Option.apply("c"), scala.Option.apply("c"), scala.Option.apply(new Quota(bound, true)));
      org.apache.kafka.network.Session session = new org.apache.kafka.network.Session(new KafkaPrincipal("User", "ANONYMOUS"), InetAddress.getLoopbackAddress());
      boolean strict = run < 2;
      StringBuilder line = new StringBuilder((strict ? "Strict " : "Permissive ") + bound);
      for (int i = 0; i < 50; i++) {
        int gap = random.nextInt(3000);
        time.now += gap;
        kafka.server.ControllerMutationQuota quota = strict ? manager.newStrictQuotaFor(session, "c") : manager.newPermissiveQuotaFor(session, "c");
        int n = 1 + random.nextInt(12);
        String refused = "ok";
        try { quota.record(n); } catch (org.apache.kafka.common.errors.ThrottlingQuotaExceededException e) { refused = "no" + e.throttleTimeMs(); }
        time.now += 100;
        line.append(" " + gap + "," + n + "," + refused + "," + quota.throttleTime());
      }
      System.out.println(line);
      manager.shutdown();
      metrics.close();
    }
  }
}
