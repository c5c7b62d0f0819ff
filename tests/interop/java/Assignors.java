import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * A table of what Java's assignors do: groups that live through a few rounds of members coming and going, topics growing
 * and subscriptions changing. A line each round, in JSON. Arguments: groups for each assignor, first seed, and `racks`
 * if members and replicas are to stand in racks.
 */
public class Assignors {
    private static final List<String> NAMES = List.of("range", "roundrobin", "sticky", "cooperative-sticky");

    /** One member with the memory of its last assignment. */
    private static class Member {
        String rack;
        String id;
        String instance;
        List<String> topics;
        List<TopicPartition> owned = new ArrayList<>();
        int generation = -1;
        ConsumerPartitionAssignor assignor;
    }

    public static void main(String[] args) {
        int groups = Integer.parseInt(args[0]);
        int seed = Integer.parseInt(args[1]);
        boolean racks = args.length > 2;
        for (String name : NAMES) {
            for (int group = 0; group < groups; group++) {
                nodes = nodes(racks ? new Random(seed + group) : null);
                live(name, new Random(seed + group));
            }
        }
    }

    private static List<Node> nodes;

    /** The brokers of one group's cluster: one, or some in racks, not all of which readers stand in. */
    private static List<Node> nodes(Random random) {
        if (random == null) return List.of(new Node(0, "localhost", 9092));
        List<Node> nodes = new ArrayList<>();
        for (int id = 3 + random.nextInt(4); id > 0; id--) {
            nodes.add(new Node(id, "localhost", 9092, random.nextInt(8) == 0 ? null : "r" + random.nextInt(4)));
        }
        return nodes;
    }

    /** One to three of the brokers; the same at each call for one partition. */
    private static Node[] replicas(String topic, int partition) {
        if (nodes.size() == 1) return new Node[] {nodes.get(0)};
        Random random = new Random(31L * topic.hashCode() + partition);
        List<Node> shuffled = new ArrayList<>(nodes);
        Collections.shuffle(shuffled, random);
        return shuffled.subList(0, 1 + random.nextInt(3)).toArray(new Node[0]);
    }

    private static ConsumerPartitionAssignor made(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            default: return new CooperativeStickyAssignor();
        }
    }

    private static void live(String name, Random random) {
        Map<String, Integer> counts = new TreeMap<>();
        int topicCount = 1 + random.nextInt(4);
        for (int i = 0; i < topicCount; i++) counts.put("topic-" + (char) ('a' + i), 1 + random.nextInt(9));
        boolean alike = random.nextBoolean();
        List<Member> members = new ArrayList<>();
        int named = 0;
        for (int i = 1 + random.nextInt(6); i > 0; i--) members.add(member(name, named++, counts, alike, random));
        for (int generation = 1; generation <= 5; generation++) {
            Map<String, Assignment> answer;
            try {
                answer = round(name, counts, members);
            } catch (IllegalStateException error) {
                System.err.println("Java's leader fails: " + error.getMessage());
                return;
            }
            for (Member member : members) {
                if (random.nextInt(8) == 0) continue;  // did not hear of it: its memory is a generation old
                Assignment assignment = answer.get(member.id);
                member.owned = new ArrayList<>(assignment.partitions());
                member.generation = generation;
                member.assignor.onAssignment(assignment, metadata(member));
            }
            change(name, counts, members, named, alike, random);
            named += 2;
        }
    }

    private static ConsumerGroupMetadata metadata(Member member) {
        return new ConsumerGroupMetadata("group", member.generation, member.id, Optional.ofNullable(member.instance));
    }

    private static void change(
            String name, Map<String, Integer> counts, List<Member> members, int named, boolean alike, Random random) {
        if (members.size() > 1 && random.nextInt(3) == 0) members.remove(random.nextInt(members.size()));
        for (int i = random.nextInt(3); i > 0; i--) members.add(member(name, named + i - 1, counts, alike, random));
        if (random.nextInt(4) == 0) {
            String topic = new ArrayList<>(counts.keySet()).get(random.nextInt(counts.size()));
            counts.put(topic, counts.get(topic) + 1 + random.nextInt(3));
        }
        if (!alike && random.nextInt(4) == 0) members.get(random.nextInt(members.size())).topics = some(counts, random);
    }

    private static Member member(
            String name, int number, Map<String, Integer> counts, boolean alike, Random random) {
        Member member = new Member();
        member.id = "consumer-" + number + "-" + Integer.toHexString(random.nextInt());
        if (random.nextInt(4) == 0) member.instance = "instance-" + (99 - number);
        member.topics = alike ? new ArrayList<>(counts.keySet()) : some(counts, random);
        member.assignor = made(name);
        if (nodes.size() > 1 && random.nextInt(6) != 0) member.rack = "r" + random.nextInt(3);
        return member;
    }

    private static List<String> some(Map<String, Integer> counts, Random random) {
        List<String> topics = new ArrayList<>(counts.keySet());
        Collections.shuffle(topics, random);
        return new ArrayList<>(topics.subList(0, 1 + random.nextInt(topics.size())));
    }

    private static Map<String, Assignment> round(String name, Map<String, Integer> counts, List<Member> members) {
        Map<String, Subscription> subscriptions = new HashMap<>();
        List<String> described = new ArrayList<>();
        for (Member member : members) {
            boolean cooperative = name.startsWith("cooperative");
            List<TopicPartition> owned = cooperative ? member.owned : List.of();
            ByteBuffer userData = member.assignor.subscriptionUserData(new TreeSet<>(member.topics));
            Subscription subscription = new Subscription(member.topics, userData, owned, member.generation, Optional.ofNullable(member.rack));
            subscription.setGroupInstanceId(Optional.ofNullable(member.instance));
            subscriptions.put(member.id, subscription);
            described.add(String.format(
                    "{\"id\":\"%s\",\"instance\":%s,\"topics\":%s,\"owned\":%s,\"generation\":%d,\"user_data\":%s%s}",
                    member.id, quoted(member.instance), strings(member.topics), partitions(owned, false),
                    member.generation, userData == null ? "null" : quoted(hex(userData)),
                    nodes.size() == 1 ? "" : ",\"rack\":" + quoted(member.rack)));
        }
        List<PartitionInfo> infos = new ArrayList<>();
        counts.forEach((topic, count) -> {
            for (int i = 0; i < count; i++) {
                Node[] replicas = replicas(topic, i);
                infos.add(new PartitionInfo(topic, i, replicas[0], replicas, replicas));
            }
        });
        Cluster cluster = new Cluster("cluster", nodes, infos, Collections.emptySet(), Collections.emptySet());
        Map<String, Assignment> answer =
                made(name).assign(cluster, new GroupSubscription(subscriptions)).groupAssignment();
        List<String> assigned = new ArrayList<>();
        new TreeMap<>(answer).forEach((id, assignment) ->
                assigned.add(quoted(id) + ":" + partitions(assignment.partitions(), true)));
        List<String> sizes = new ArrayList<>();
        counts.forEach((topic, count) -> sizes.add(quoted(topic) + ":" + count));
        List<String> stand = new ArrayList<>();
        for (PartitionInfo info : nodes.size() == 1 ? List.<PartitionInfo>of() : infos) {
            String[] racks = Arrays.stream(info.replicas()).map(Node::rack).filter(Objects::nonNull).toArray(String[]::new);
            stand.add(quoted(info.topic() + "-" + info.partition()) + ":" + strings(List.of(racks)));
        }
        System.out.printf("{\"assignor\":\"%s\",\"counts\":{%s},\"racks\":{%s},\"members\":[%s],\"answer\":{%s}}%n",
                name, String.join(",", sizes), String.join(",", stand), String.join(",", described),
                String.join(",", assigned));
        return answer;
    }

    private static String hex(ByteBuffer buffer) {
        StringBuilder text = new StringBuilder();
        ByteBuffer copy = buffer.duplicate();
        while (copy.hasRemaining()) text.append(String.format("%02x", copy.get()));
        return text.toString();
    }

    private static String quoted(String text) {
        return text == null ? "null" : "\"" + text + "\"";
    }

    private static String strings(List<String> texts) {
        return "[" + String.join(",", texts.stream().map(Assignors::quoted).toArray(String[]::new)) + "]";
    }

    private static String partitions(List<TopicPartition> partitions, boolean sorted) {
        String[] texts = partitions.stream().map(tp -> quoted(tp.toString())).toArray(String[]::new);
        if (sorted) Arrays.sort(texts);
        return "[" + String.join(",", texts) + "]";
    }
}
