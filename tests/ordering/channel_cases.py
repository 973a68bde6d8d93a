"""Answers that share a channel: overlaps, slots, and listening before sending."""

from asyncdp_sim.network.channels import Aloha, Csma, Parallel, SlottedAloha, Tdma
from asyncdp_sim.network.channels.dcf import Dcf, DcfMedium, DcfPort
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Push, Request
from tests.ordering.scene import Case, dark, losing, net


class Counting(Dcf):
    """Lets each owner count so many slots before each of its attempts: nothing is drawn."""

    window: int = 8
    doublings: int = 1
    counts: tuple[tuple[int, ...], ...]

    def open(self, kernel, streams, n_owners):  # noqa: ARG002
        return CountingMedium(self, kernel, streams)


class CountingMedium(DcfMedium):
    def port(self, owner):
        draws = iter([-1.0] * 9)
        port = DcfPort(self, self._spec.window, self._spec.doublings, draws)
        return CountingPort(port, self, iter(self._spec.counts[owner - 1]))


class CountingPort:
    def __init__(self, port, medium, counts):
        self._port = port
        self._medium = medium
        self._counts = counts

    def transmit(self, ticks, begun, deferred):
        window = self._port._window << min(self._port._collisions, self._port._doublings)
        self._port._draws = iter([next(self._counts) / window])
        return (yield from self._port.transmit(ticks, begun, deferred))


ALOHAS = [
    Case(
        "aloha_overlap_destroys_both",
        "Owner 1 sends in [1, 1.5), owner 2 in [1.25, 1.75): both answers are destroyed, each "
        "counted at its own end.\nBoth were released.",
        net([[1], [1.25]], push="drop", channel=Aloha(airtime=0.5)),
        end=1.75,
        mishaps=(("answer_collided", 1.5, 1), ("answer_collided", 1.75, 2)),
        open=("collided", "collided"),
        released=((1, 1), (1.25, 2)),
        on_air=1,
        ending="silent",
    ),
    Case(
        "aloha_touching_is_no_overlap",
        "Intervals are half-open: [1, 1.5) and [1.5, 2) do not overlap. Owner 2, whose clock ticks "
        "at 1.5, reads after\nowner 1's update of that tick.",
        net([[1], [1.5]], push="drop", channel=Aloha(airtime=0.5)),
        end=2,
        updates=((1.5, 1), (2, 2)),
        stale=(0, 0),
        on_air=1,
    ),
    Case(
        "aloha_overlap_of_one_tick",
        "Owner 2 begins one tick before owner 1 ends: both are destroyed.",
        net([[1], [1.499999999]], push="drop", channel=Aloha(airtime=0.5)),
        end=1.999999999,
        mishaps=(("answer_collided", 1.5, 1), ("answer_collided", 1.999999999, 2)),
        open=("collided", "collided"),
    ),
    Case(
        "aloha_chain_of_three",
        "[1, 1.5) and [1.4, 1.9) overlap, [1.4, 1.9) and [1.8, 2.3) overlap: all three are "
        "destroyed, though the first\nand the third never meet.",
        net([[1], [1.4], [1.8]], push="drop", channel=Aloha(airtime=0.5)),
        end=2.3,
        mishaps=(
            ("answer_collided", 1.5, 1),
            ("answer_collided", 1.9, 2),
            ("answer_collided", 2.3, 3),
        ),
        open=("collided",) * 3,
    ),
    Case(
        "aloha_resend_as_two_end",
        "Both send in [1, 1.5). At 1.5 owner 1's end comes first and its answer is sent again at "
        "once, while owner 2's\nhas ended but not been noted: that changes nothing, both are noted "
        "and both begin anew, to collide at 2.",
        net([[1], [1]], push="drop", channel=Aloha(airtime=0.5, retransmissions=1)),
        end=2,
        mishaps=(
            ("answer_collided", 1.5, 1),
            ("answer_resent", 1.5, 1),
            ("answer_collided", 1.5, 2),
            ("answer_resent", 1.5, 2),
            ("answer_collided", 2, 1),
            ("answer_collided", 2, 2),
        ),
        open=("collided", "collided"),
        released=((1, 1), (1, 2)),
        on_air=2,
    ),
    Case(
        "aloha_resend_as_another_ends",
        "Owner 1 asks in [1, 1.25) and answers in [1.25, 1.75), destroyed by owner 2's request of "
        "[1.5, 1.75). It sends\nagain at 1.75, before the end of that request is noted: what ends "
        "at 1.75 has ended, the answer gets through.",
        net(
            [[1], [1.5]],
            channel=Aloha(airtime=0.5, request_airtime=0.25, retransmissions=1),
        ),
        end=2.25,
        updates=((2.25, 1),),
        mishaps=(
            ("answer_collided", 1.75, 1),
            ("answer_resent", 1.75, 1),
            ("request_lost collision", 1.75, 2),
        ),
        released=((1.25, 1),),
        on_air=1.5,
    ),
    Case(
        "aloha_resends_meet_for_ever",
        "Without a wait the resends of [1, 1.5) and [1.25, 1.75) keep their distance of 0.25: "
        "each of the three\ntransmissions of either collides. One charge each.",
        net([[1], [1.25]], push="drop", channel=Aloha(airtime=0.5, retransmissions=2)),
        end=2.75,
        mishaps=(
            ("answer_collided", 1.5, 1),
            ("answer_resent", 1.5, 1),
            ("answer_collided", 1.75, 2),
            ("answer_resent", 1.75, 2),
            ("answer_collided", 2, 1),
            ("answer_resent", 2, 1),
            ("answer_collided", 2.25, 2),
            ("answer_resent", 2.25, 2),
            ("answer_collided", 2.5, 1),
            ("answer_collided", 2.75, 2),
        ),
        open=("collided", "collided"),
        released=((1, 1), (1.25, 2)),
        on_air=3,
    ),
    Case(
        "aloha_backoff_doubles_up_to_its_cap",
        "Three losses; waits of 0.25 times 1, 2 and 2 (backoff_cap = 1 lets it double once): sent "
        "at 1, 1.75, 2.75\nand 3.75.",
        net(
            [[1]],
            push="drop",
            channel=Aloha(
                airtime=0.5,
                loss=losing(1, 2, 3),
                retransmissions=3,
                backoff=Constant(value=0.25),
                backoff_cap=1,
            ),
        ),
        end=4.25,
        updates=((4.25, 1),),
        mishaps=(
            ("answer_lost noise", 1.5, 1),
            ("answer_resent", 1.75, 1),
            ("answer_lost noise", 2.25, 1),
            ("answer_resent", 2.75, 1),
            ("answer_lost noise", 3.25, 1),
            ("answer_resent", 3.75, 1),
        ),
        released=((1, 1),),
        on_air=2,
    ),
    Case(
        "aloha_latency_follows_the_airtime",
        "The channel is busy for the airtime alone: owner 1's answer, sent in [1, 1.5), arrives at "
        "2.5; owner 2's, sent\nin [1.5, 2), at 3. Owner 1 is busy until its answer has arrived.",
        net([[1, 2.25], [1.5]], answer=1, push="drop", channel=Aloha(airtime=0.5)),
        end=3,
        updates=((2.5, 1), (3, 2)),
        dropped=((2.25, 1),),
        stale=(0, 1),
        on_air=1,
    ),
    Case(
        "aloha_requests_use_the_channel",
        "Requests take 0.25, answers 0.5. The requests of [1, 1.25) and [1.1, 1.35) destroy each "
        "other: not refused,\nbut lost. Owner 3 asks in [2, 2.25) and answers in [2.25, 2.75); "
        "owner 4's request of [2.5, 2.75), sent\nduring the lock, and that answer destroy each "
        "other.",
        net(
            [[1], [1.1], [2], [2.5]],
            channel=Aloha(airtime=0.5, request_airtime=0.25),
        ),
        end=2.75,
        mishaps=(
            ("request_lost collision", 1.25, 1),
            ("request_lost collision", 1.35, 2),
            ("answer_collided", 2.75, 3),
            ("request_lost collision", 2.75, 4),
        ),
        open=("collided",),
        released=((2.25, 3),),
        on_air=1.5,
    ),
    Case(
        "parallel_by_owner",
        "Two channels, owner i on channel (i − 1) mod 2 + 1: owners 1 and 3 share the first and "
        "collide, owner 2, on the\nair at the same time, does not.",
        net(
            [[1], [1], [1.25]],
            push="drop",
            channel=Parallel(channels=2, each=Aloha(airtime=0.5), choice="by-owner"),
        ),
        end=1.75,
        updates=((1.5, 2),),
        mishaps=(("answer_collided", 1.5, 1), ("answer_collided", 1.75, 3)),
        open=("collided", "collided"),
        on_air=1.5,
    ),
]

SLOTS = [
    Case(
        "slotted_next_slot_or_this_one",
        "Slots of 0.5. Owner 1 is ready exactly as slot 3 begins (1.5) and goes in it; owner 2, "
        "one tick later, goes\nin slot 4, [2, 2.5). The slots touch and do not collide.",
        net([[1.5], [1.500000001]], push="drop", channel=SlottedAloha(airtime=0.5, slot=0.5)),
        end=2.5,
        updates=((2, 1), (2.5, 2)),
        released=((1.5, 1), (2, 2)),
        stale=(0, 1),
    ),
    Case(
        "slotted_two_in_one_slot",
        "Ready at 1.1 and at 1.4, in the slot [1, 1.5): both go in the next one and collide. Owner "
        "3, ready at 0.9, has\nthe slot [1, 1.5) for itself.",
        net([[1.1], [1.4], [0.9]], push="drop", channel=SlottedAloha(airtime=0.5, slot=0.5)),
        end=2,
        updates=((1.5, 3),),
        mishaps=(("answer_collided", 2, 1), ("answer_collided", 2, 2)),
        open=("collided", "collided"),
        released=((1, 3), (1.5, 1), (1.5, 2)),
    ),
    Case(
        "slotted_tick_as_the_slot_begins",
        "Owner 1 waits from 0.5 for the slot that begins at 1, and sends as it begins; owner 2's "
        "clock ticks then, after\nall that begins, and its answer still goes in this slot: they "
        "collide. The airtime, 0.25, is shorter than a slot.",
        net([[0.5], [1]], push="drop", channel=SlottedAloha(airtime=0.25, slot=1)),
        end=1.25,
        mishaps=(("answer_collided", 1.25, 1), ("answer_collided", 1.25, 2)),
        open=("collided", "collided"),
        released=((1, 1), (1, 2)),
        on_air=0.5,
    ),
    Case(
        "slotted_resend_in_the_next_slot",
        "Lost at the end of the slot [1.5, 2), the answer goes in the slot that begins then.",
        net(
            [[1.1]],
            push="drop",
            channel=SlottedAloha(airtime=0.5, slot=0.5, loss=losing(1), retransmissions=1),
        ),
        end=2.5,
        updates=((2.5, 1),),
        mishaps=(("answer_lost noise", 2, 1), ("answer_resent", 2, 1)),
    ),
    Case(
        "dcf_counts_one_a_slot_whoever_sends_in_it",
        "Ready at 1 and 1.1, on a channel that nobody uses: slots of 0.25 begin at 1.25, one after "
        "owner 1 was ready. It counts\ntwo and sends in the third, [1.75, 2.25), after which the "
        "channel is taken for another 0.25. Owner 2 counts those two,\nthe busy one, and one more; "
        "it sends at 2.75.",
        net(
            [[1], [1.1]],
            push="drop",
            channel=Counting(airtime=0.5, slot=0.25, after_success=0.25, counts=((2,), (4,))),
        ),
        end=3.25,
        updates=((2.25, 1), (3.25, 2)),
        released=((1.75, 1), (2.75, 2)),
        stale=(0, 1),
    ),
    Case(
        "dcf_doubles_the_window_after_a_collision",
        "Ready at 1 and 1.1; slots begin at 1.25, and both count one: [1.5, 2) collides, and the "
        "channel is taken for 0.25\nmore. Of their doubled windows they draw 0 and 9. Owner 1 "
        "sends at once, [2.25, 2.75), owner 2 after that slot and\neight more, at 4.75.",
        net(
            [[1], [1.1]],
            push="drop",
            channel=Counting(
                airtime=0.5,
                slot=0.25,
                after_collision=0.25,
                retransmissions=1,
                counts=((1, 0), (1, 9)),
            ),
        ),
        end=5.25,
        updates=((2.75, 1), (5.25, 2)),
        mishaps=(
            ("answer_collided", 2, 1),
            ("answer_collided", 2, 2),
            ("answer_resent", 2.25, 1),
            ("answer_resent", 4.75, 2),
        ),
        released=((1.5, 1), (1.5, 2)),
        stale=(0, 1),
        on_air=2,
    ),
    Case(
        "vanishes_while_it_waits_for_a_slot",
        "Ready at 1.1, offline from 1.25, its slot begins at 1.5: with offline = vanish the answer "
        "is not sent, not\nreleased, not charged. The tick at 2.5 acts.",
        net(
            [[1.1, 2.5]],
            protocol=Push(offline="vanish"),
            channel=SlottedAloha(airtime=0.5, slot=0.5),
            availability=dark([[1]], 1.25, 1),
        ),
        end=3,
        updates=((3, 1),),
        away=((1.25, 1),),
        back=((2.25, 1),),
        open=("abandoned",),
        released=((2.5, 1),),
        online=(2 / 3,),
    ),
    Case(
        "tdma_waits_for_its_own_slot",
        "Two owners, slots of 0.5: owner 1's begin at 1 and 2, owner 2's at 0.5 and 1.5. Both are "
        "ready at 0.75, owner 2\nwithin its own slot: it waits for the next. [1, 1.5), [1.5, 2) "
        "and [2, 2.5) touch and do not collide.",
        net([[0.75, 2], [0.75]], push="drop", channel=Tdma(airtime=0.5, slot=0.5)),
        end=2.5,
        updates=((1.5, 1), (2, 2), (2.5, 1)),
        released=((1, 1), (1.5, 2), (2, 1)),
        stale=(0, 1, 0),
        on_air=1.5,
    ),
    Case(
        "tdma_guard",
        "Slots of 0.5 with a guard of 0.2 at the end: an answer of 0.3 begins with its slot and "
        "ends before the guard.",
        net([[0.2], [0.2]], push="drop", channel=Tdma(airtime=0.3, slot=0.5, guard=0.2)),
        end=1.3,
        updates=((0.8, 2), (1.3, 1)),
        released=((0.5, 2), (1, 1)),
        on_air=0.6,
    ),
    Case(
        "tdma_frame_longer_than_needed",
        "Four slots of 0.5 in a frame for two owners: owner 1's slots begin at 0, 2, 4, owner 2's "
        "at 0.5, 2.5.",
        net([[0.1, 1.9], [0.1]], push="drop", channel=Tdma(airtime=0.5, slot=0.5, frame=4)),
        end=2.5,
        updates=((1, 2), (2.5, 1)),
        dropped=((1.9, 1),),
        released=((0.5, 2), (2, 1)),
        stale=(0, 1),
    ),
    Case(
        "tdma_resend_waits_for_its_own_slot",
        "Sent in the owner's own slot and lost, an answer waits for the owner's next slot: 1 and "
        "1.5.",
        net(
            [[0], [0.5]],
            push="drop",
            channel=Tdma(airtime=0.5, slot=0.5, loss=losing(1), retransmissions=1),
        ),
        end=2,
        updates=((1.5, 1), (2, 2)),
        mishaps=(
            ("answer_lost noise", 0.5, 1),
            ("answer_lost noise", 1, 2),
            ("answer_resent", 1, 1),
            ("answer_resent", 1.5, 2),
        ),
        released=((0, 1), (0.5, 2)),
        stale=(0, 1),
    ),
    Case(
        "timeout_while_waiting_for_a_slot",
        "Owner 1, served from 0.1, would have its slot at 1, but the learner waits until 0.6 only; "
        "so with owner 2, served\nfrom 0.6 to 1.1, slot at 1.25: nothing is sent, nothing is "
        "charged. Owner 2 is busy until its slot (0.9 is\ndropped); asking at 2.1, it has the "
        "slot of 2.25 in time.",
        net(
            [[0.1], [0.6, 0.9, 2.1]],
            protocol=Request(timeout=0.5),
            channel=Tdma(airtime=0.25, slot=0.25, frame=4),
        ),
        end=2.5,
        updates=((2.5, 2),),
        dropped=((0.9, 2),),
        mishaps=(("timeout", 0.6, 1), ("timeout", 1.1, 2)),
        open=("abandoned", "abandoned"),
        released=((2.25, 2),),
        on_air=0.25,
    ),
]

A = 0.25
CSMA = Csma(airtime=1, propagation_delay=A)
PERSISTENT = Csma(airtime=1, propagation_delay=A, persistence=1.0)
DETECTING = Csma(airtime=1, propagation_delay=A, collision_detection=True)

LISTENING = [
    Case(
        "csma_busy_is_heard_after_the_delay",
        "Owner 1 sends in [1, 2), heard in [1.25, 2.25): a tick at 1.25 finds the channel busy and "
        "is given up: not\nsent, not released, not charged.",
        net([[1], [1.25]], push="drop", channel=CSMA),
        end=2,
        updates=((2, 1),),
        mishaps=(("retry channel_busy", 1.25, 2),),
        open=("abandoned",),
        released=((1, 1),),
        on_air=1,
    ),
    Case(
        "csma_collides_within_the_delay",
        "One tick before 1 + a nobody hears owner 1 yet: owner 2 sends, both are destroyed.",
        net([[1], [1.249999999]], push="drop", channel=CSMA),
        end=2.249999999,
        mishaps=(("answer_collided", 2, 1), ("answer_collided", 2.249999999, 2)),
        open=("collided", "collided"),
        on_air=2,
    ),
    Case(
        "csma_tail",
        "Owner 1's answer arrives at 2, and is heard until 2.25: owner 2 finds the channel busy at "
        "2 and one tick\nbefore 2.25, and free at 2.25.",
        net([[1], [2, 2.249999999, 2.25]], push="drop", channel=CSMA),
        end=3.25,
        updates=((2, 1), (3.25, 2)),
        mishaps=(("retry channel_busy", 2, 2), ("retry channel_busy", 2.249999999, 2)),
        open=("abandoned", "abandoned"),
        released=((1, 1), (2.25, 2)),
    ),
    Case(
        "csma_sender_hears_itself",
        "The same tail for the sender: its own tick at 2, free to act, finds the channel busy with "
        "its own answer.",
        net([[1, 2, 2.25]], push="drop", channel=CSMA),
        end=3.25,
        updates=((2, 1), (3.25, 1)),
        mishaps=(("retry channel_busy", 2, 1),),
        open=("abandoned",),
        released=((1, 1), (2.25, 1)),
    ),
    Case(
        "csma_without_delay",
        "With a = 0 a transmission is heard in [start, end): of two ticks at 1 the second finds "
        "the channel busy; at 2\nit is free.",
        net([[1], [1, 2]], push="drop", channel=Csma(airtime=1, propagation_delay=0)),
        end=3,
        updates=((2, 1), (3, 2)),
        mishaps=(("retry channel_busy", 1, 2),),
        open=("abandoned",),
        stale=(0, 0),
    ),
    Case(
        "csma_backoff_doubles_up_to_its_cap",
        "Owner 2 finds the channel busy at 1.25, waits 0.3, again at 1.55, waits 0.6, again at "
        "2.15, and waits 0.6, not\n1.2 (backoff_cap = 1): it sends in [2.75, 3.75), charged then, "
        "with the gradient of 1.25.",
        net(
            [[1], [1.25]],
            push="drop",
            channel=Csma(
                airtime=1, propagation_delay=A, backoff=Constant(value=0.3), backoff_cap=1
            ),
        ),
        end=3.75,
        updates=((2, 1), (3.75, 2)),
        mishaps=(
            ("retry channel_busy", 1.25, 2),
            ("retry channel_busy", 1.55, 2),
            ("retry channel_busy", 2.15, 2),
        ),
        released=((1, 1), (2.75, 2)),
        reads=(1, 1.25),
        stale=(0, 1),
    ),
    Case(
        "csma_persistent_waiters_collide",
        "Owners 2 and 3 find the channel busy at 1.5 and 1.75; both wait until it is heard no more "
        "(2.25), begin\ntogether and collide.",
        net([[1], [1.5], [1.75]], push="drop", channel=PERSISTENT),
        end=3.25,
        updates=((2, 1),),
        mishaps=(("answer_collided", 3.25, 2), ("answer_collided", 3.25, 3)),
        open=("collided", "collided"),
        released=((1, 1), (2.25, 2), (2.25, 3)),
    ),
    Case(
        "csma_persistent_waits_out_the_tail",
        "Owner 2 is ready at 2.1, in the tail of owner 1's transmission: it waits until 2.25 and "
        "has the channel.",
        net([[1], [2.1]], push="drop", channel=PERSISTENT),
        end=3.25,
        updates=((2, 1), (3.25, 2)),
        released=((1, 1), (2.25, 2)),
        stale=(0, 0),
    ),
    Case(
        "csma_persistent_waits_for_both",
        "Owners 1 and 3 collide in [1, 2) and [1.2, 2.2), heard until 2.25 and 2.45: owner 2, "
        "waiting from 1.5, listens\nagain at 2.25 and sends at 2.45.",
        net([[1], [1.5], [1.2]], push="drop", channel=PERSISTENT),
        end=3.45,
        updates=((3.45, 2),),
        mishaps=(("answer_collided", 2, 1), ("answer_collided", 2.2, 3)),
        open=("collided", "collided"),
        released=((1, 1), (1.2, 3), (2.45, 2)),
    ),
    Case(
        "csma_detection_cuts_both_short",
        "Owners 1 and 2 begin at 1 and 1.2. Owner 2 hears the other at 1.25 and stops, owner 1 at "
        "1.45: [1, 1.45) and\n[1.2, 1.25), heard until 1.7. Owner 3 finds the channel busy at "
        "1.45 and one tick before 1.7, and free at 1.7.",
        net([[1], [1.2], [1.45, 1.699999999, 1.7]], push="drop", channel=DETECTING),
        end=2.7,
        updates=((2.7, 3),),
        mishaps=(
            ("answer_collided", 1.25, 2),
            ("answer_collided", 1.45, 1),
            ("retry channel_busy", 1.45, 3),
            ("retry channel_busy", 1.699999999, 3),
        ),
        open=("collided", "collided", "abandoned", "abandoned"),
        released=((1, 1), (1.2, 2), (1.7, 3)),
        on_air=1.5,
    ),
    Case(
        "csma_detection_first_signal_counts",
        "Three begin at 1, 1.1 and 1.2. Owners 2 and 3 hear owner 1 at 1.25; owner 1 hears owner 2 "
        "at 1.35 and stops then,\nnot at 1.45, when it would hear owner 3.",
        net([[1], [1.1], [1.2]], push="drop", channel=DETECTING),
        end=1.35,
        mishaps=(
            ("answer_collided", 1.25, 2),
            ("answer_collided", 1.25, 3),
            ("answer_collided", 1.35, 1),
        ),
        open=("collided",) * 3,
        on_air=0.35 + 0.15 + 0.05,
    ),
    Case(
        "csma_request_then_answer",
        "Owner 1 asks in [1, 1.5), heard until 1.6; owner 2 hears that at 1.2: its request is not "
        "sent. The query\narrives at 1.6, when owner 1 hears itself no more, so its answer is sent "
        "at once.",
        net(
            [[1], [1.2]],
            query=0.1,
            channel=Csma(airtime=1, request_airtime=0.5, propagation_delay=0.1),
        ),
        end=2.6,
        updates=((2.6, 1),),
        mishaps=(("retry channel_busy", 1.2, 2), ("request_lost channel_busy", 1.2, 2)),
        released=((1.6, 1),),
        on_air=1.5,
    ),
]

CHANNELS = [*ALOHAS, *SLOTS, *LISTENING]
