"""Faults of producers, consumers and admin clients: calls that end in the middle, clusters that change under them."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a poll that is interrupted skips no record",
        file="kafka_zk/client/consumer/fetcher.py",
        old="                    state.position = position\n            raise\n",
        new="                    pass\n            raise\n",
        tests="tests/unit/client/consumer/test_interrupted_calls.py -k skips_no_record",
    ),
    Mutant(
        breaks="what ends a later poll gives no record out twice",
        file="kafka_zk/client/consumer/fetcher.py",
        old="        self._left.clear()\n",
        new="",
        tests="tests/unit/client/consumer/test_interrupted_calls.py -k out_twice",
    ),
    Mutant(
        breaks="an interceptor that ends the call costs no callback of a commit",
        file="kafka_zk/client/consumer/group/commits.py",
        old="            self._finished.append(partial(callback, offsets, error))\n            if error is None:\n"
        "                self.latency.record(self._clock.monotonic_ms() - sent_ms)\n"
        "                self.on_committed(offsets)\n",
        new="            if error is None:\n                self.on_committed(offsets)\n"
        "            self._finished.append(partial(callback, offsets, error))\n",
        tests="tests/unit/client/consumer/test_interrupted_calls.py -k costs_no_callback",
    ),
    Mutant(
        breaks="a close that is interrupted leaves no socket open",
        file="kafka_zk/client/consumer/parts.py",
        old="        finally:\n            # Also when the wait",
        new="        except ZeroDivisionError:\n            raise\n        else:\n            # Also when the wait",
        tests="tests/unit/client/consumer/test_interrupted_calls.py -k no_socket_open",
    ),
    Mutant(
        breaks="beside a topic that is denied the others are read",
        file="kafka_zk/client/consumer/positions.py",
        old="            self._told_update = self._metadata.update_count\n",
        new="            self._told_update = -1\n",
        tests="tests/unit/client/consumer/test_denied_topics.py -k others_are_read",
    ),
    Mutant(
        breaks="a topic that is denied is told in the poll that waits",
        file="kafka_zk/client/consumer/positions.py",
        old="            self._metadata.snapshot.raise_for_refused(read)\n",
        new="            self._metadata.snapshot.raise_for_refused(read and [])\n",
        tests="tests/unit/client/consumer/test_denied_topics.py -k long_poll",
    ),
    Mutant(
        breaks="who asks for offsets of a denied topic does not wait",
        file="kafka_zk/client/consumer/searches.py",
        old="            metadata.snapshot.raise_for_refused(unknown)\n",
        new="",
        tests="tests/unit/client/consumer/test_denied_topics.py -k beginning_offsets",
    ),
    Mutant(
        breaks="a producer asks again for a topic that was denied",
        file="kafka_zk/client/producer/kafka_producer.py",
        old="                if is_news or snapshot",
        new="                if snapshot.topic_errors or snapshot",
        tests="tests/unit/client/producer/test_interrupted_sends.py -k asked_for_again",
    ),
    Mutant(
        breaks="the leaders of a topic made anew are followed though its epochs are lower",
        file="kafka_zk/client/network/metadata.py",
        old="may_go_back=topic.topic_id not in (NULL_UUID, before_id)",
        new="may_go_back=before is not None and not same",
        tests="tests/unit/client/network/test_metadata.py -k made_anew",
    ),
    Mutant(
        breaks="an older epoch of the same topic is not believed",
        file="kafka_zk/client/network/metadata.py",
        old="may_go_back=topic.topic_id not in (NULL_UUID, before_id)",
        new="may_go_back=True",
        tests="tests/unit/client/network/test_metadata.py -k not_believed",
    ),
    Mutant(
        breaks="a follower whose disk failed is not read from any more",
        file="kafka_zk/client/consumer/fetcher.py",
        old="names another if there is one.\n            state.preferred_replica = None\n",
        new="names another if there is one.\n",
        tests="tests/unit/client/consumer/test_fetcher.py -k disk_failed",
    ),
    Mutant(
        breaks="a failure of where nobody reads any more is not told",
        file="kafka_zk/client/consumer/fetcher.py",
        old=" and state.may_be_fetched and state.position and state.position.offset == offset:",
        new=" and state.position:",
        tests="tests/unit/client/consumer/test_fetcher.py -k not_told",
    ),
    Mutant(
        breaks="a pause is not shortened by a later answer",
        file="kafka_zk/client/network/node_connection.py",
        old="max(self._paused_until_ms, now_ms + pause)",
        new="now_ms + pause",
        tests="tests/unit/client/network/test_network_client.py -k not_shortened",
    ),
    Mutant(
        breaks="a host is looked up again when a connection to it was lost",
        file="kafka_zk/client/network/node_connection.py",
        old="            self._addresses.clear()\n",
        new="",
        tests="tests/unit/client/network/test_network_client.py -k looked_up_again",
    ),
    Mutant(
        breaks="what cannot be a name does not resolve",
        file="kafka_zk/client/addresses.py",
        old="except (socket.gaierror, UnicodeError):",
        new="except socket.gaierror:",
        tests="tests/unit/client/network/test_network_client.py -k cannot_be_a_name",
    ),
    Mutant(
        breaks="an admin call that is interrupted leaves its answer to nobody",
        file="kafka_zk/client/admin/cluster.py",
        old="        except BaseException:\n",
        new="        except (DisconnectException, TimeoutException):\n",
        tests="tests/unit/client/admin/test_cluster.py -k interrupted",
    ),
    Mutant(
        breaks="an admin client finds a broker that came back elsewhere",
        file="kafka_zk/client/admin/cluster.py",
        old=" or (node_id in self._failures and self._may_try(node_id))",
        new="",
        tests="tests/unit/client/admin/test_cluster.py -k came_back",
    ),
    Mutant(
        breaks="a callback that ends its thread keeps no record from its outcome",
        file="kafka_zk/client/producer/producer_batch.py",
        old="            except BaseException:\n",
        new="            except Exception:\n",
        tests="tests/unit/client/producer/test_interrupted_sends.py -k ends_its_thread",
    ),
    Mutant(
        breaks="where the sender's thread ends no record is waited for",
        file="kafka_zk/client/producer/sender.py",
        old="        finally:\n            # Whatever ended it, G",
        new="        except ZeroDivisionError:\n            # Whatever ended it, G",
        tests="tests/unit/client/producer/test_interrupted_sends.py -k thread_ends_no",
    ),
    Mutant(
        breaks="interceptors hear of a record that a part of the program refused",
        file="kafka_zk/client/producer/kafka_producer.py",
        old="        except Exception as error:\n            # Whatever it is",
        new="        except (KafkaException, ValueError) as error:\n            # Whatever it is",
        tests="tests/unit/client/producer/test_interrupted_sends.py -k hear_of",
    ),
    Mutant(
        breaks="partitions are told though the topic goes at that moment",
        file="kafka_zk/client/producer/kafka_producer.py",
        old="        known = snapshot.topics[topic].partitions\n",
        new="        known = self._metadata.snapshot.topics[topic].partitions\n",
        tests="tests/unit/client/producer/test_interrupted_sends.py -k at_that_moment",
    ),
    Mutant(
        breaks="what an attempt brings that was given up changes nothing",
        file="kafka_zk/client/consumer/group/rebalance.py",
        old="def _joined(self, attempt: int, answer: JoinGroupResponse) -> None:\n"
        "        if attempt != self._membership.attempt:\n            return\n",
        new="def _joined(self, attempt: int, answer: JoinGroupResponse) -> None:\n",
        tests="tests/unit/client/consumer/test_rebalance.py -k given_up_changes",
    ),
    Mutant(
        breaks="a leader whose assignor fails joins again",
        file="kafka_zk/client/consumer/group/rebalance.py",
        old="            self._membership.on_disconnected(self._membership.attempt)\n            self._pause()\n"
        "            raise\n",
        new="            raise\n",
        tests="tests/unit/client/consumer/test_rebalance.py -k assignor_fails",
    ),
    Mutant(
        breaks="the last commit of a generation is made again where the coordinator moved",
        file="kafka_zk/client/consumer/group/rebalance.py",
        old="and may_be_retried(error) and now_ms",
        new="and not may_be_retried(error) and now_ms",
        tests="tests/unit/client/consumer/test_rebalance.py -k coordinator_moved",
    ),
    Mutant(
        breaks="a last commit that never succeeds keeps nobody from joining",
        file="kafka_zk/client/consumer/group/rebalance.py",
        old=" and now_ms < self._final_commit_until_ms:",
        new=":",
        tests="tests/unit/client/consumer/test_rebalance.py -k never_succeeds",
    ),
    Mutant(
        breaks="who reads a pattern joins when its topics are known",
        file="kafka_zk/client/consumer/group/rebalance.py",
        old=" or self._metadata.update_count > self.match_after",
        new=" or True",
        tests="tests/unit/client/consumer/test_rebalance.py -k reads_a_pattern",
    ),
    Mutant(
        breaks="a position in doubt is told when its leader was asked",
        file="kafka_zk/client/consumer/kafka_consumer.py",
        old="lambda: state.state is FetchState.FETCHING,",
        new="lambda: state.position is not None,",
        tests="tests/unit/client/consumer/test_answers_of_brokers.py -k in_doubt",
    ),
    Mutant(
        breaks="who closes without waiting still leaves the group",
        file="kafka_zk/client/consumer/group/coordinator_link.py",
        old="            self._send_questions(self._clock.monotonic_ms())\n",
        new="",
        tests="tests/unit/client/consumer/test_coordinator_link.py -k asked_last",
    ),
    Mutant(
        breaks="what was read is committed at the end though the coordinator moves",
        file="kafka_zk/client/consumer/kafka_consumer.py",
        old="                self._commit_last(deadline_s)\n",
        new="                member.commits.commit(member.commits.consumed(), lambda *_: None)\n",
        tests="tests/unit/client/consumer/test_leaving.py -k committed_at_the_end",
    ),
    Mutant(
        breaks="all waits of a close share its time",
        file="kafka_zk/client/consumer/kafka_consumer.py",
        old="lambda: bool(left) and member.commits.is_idle, self._left_s(deadline_s))",
        new="lambda: bool(left) and member.commits.is_idle, 2.0)",
        tests="tests/unit/client/consumer/test_leaving.py -k share_its_time",
    ),
    Mutant(
        breaks="two threads may wait for one record of a batch that was split",
        file="kafka_zk/client/producer/futures.py",
        old="        result, index = self._result, self._index\n        while result.is_done and result.parts:\n"
        "            result, index = result.part_of(index)\n        return result, index\n",
        new="        while self._result.is_done and self._result.parts:\n"
        "            self._result, self._index = self._result.part_of(self._index)\n"
        "        return self._result, self._index\n",
        tests="tests/unit/client/producer/test_futures.py",
    ),
    Mutant(
        breaks="a connection that was made while the program was away is used",
        file="kafka_zk/client/network/node_connection.py",
        old="                self._setup_deadline_ms = now_ms + self._settings.request_timeout_ms\n",
        new="",
        tests="tests/unit/client/network/test_network_client.py -k program_was_away",
    ),
    Mutant(
        breaks="a connection that is not ready in time is given up",
        file="kafka_zk/client/network/node_connection.py",
        old="        if now_ms >= self._setup_deadline_ms:\n",
        new="        if now_ms < 0:\n",
        tests="tests/unit/client/network/test_network_client.py -k not_ready_in_time",
    ),
    Mutant(
        breaks="an answer is taken though the broker hung up behind it",
        file="kafka_zk/client/network/channel.py",
        old="            if not frames:\n                raise\n",
        new="            raise\n",
        tests="tests/unit/client/network/test_channel.py",
    ),
)
