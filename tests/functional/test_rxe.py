# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A real RoCE v2 peer: Linux's rxe in a virtual machine, whose programs connect by librdmacm.

verbs_mfp.c sends event data to evb; rping, ib_send_bw and ib_write_bw, as Debian ships them, have
rdma_server.c at the other end, which is evb's RoCE engines on a raw socket. Where the machine cannot
be had, all is skipped.

EVB_LONG_TESTS, and in CI: 2500 events in the place of 600, and 20 restarts of evb in that of 3.
"""

import atexit
import contextlib
import functools
import os
import signal
import threading

import appliance
import ejfat_sender
import evbtest
import judge
import rxe
import telemetry
from evbtest import check, check_equal

SOURCES = range(0x1001, 0x1005)
SERVICE = 19523
EVENTS = 2500 if evbtest.LONG else 600
RESTARTS = 20 if evbtest.LONG else 3
PORTS = {"rping": 7174, "perftest": 18515}
HELD = "held"  # group of a consumer that holds events
GUEST_FILES = "/tmp/mfps"
GUEST_ADDRESS6, PEER_ADDRESS6 = "fd77::a", "fd77::b"


@functools.cache
def _guest_or_reason():
    machine = rxe.Guest()
    try:
        machine.__enter__()
    except evbtest.Skip as reason:
        return None, str(reason)
    atexit.register(machine.__exit__)
    machine.compile("verbs_mfp.c", "/tmp/verbs_mfp", "-lrdmacm", "-libverbs")
    return machine, None


def guest():
    """The machine, started once."""
    machine, reason = _guest_or_reason()
    if reason:
        evbtest.skip(reason)
    return machine


def configuration(work, stream, slots, **changes):
    port = {"name": "wire", "profile": "af_packet", "device": rxe.DEVICE, "mtu": rxe.MTU,
            "address": f"{rxe.PEER_ADDRESS}/24", "address6": PEER_ADDRESS6}
    return appliance.builder(work, port, stream, slots, transport={"kind": "roce"},
                             roce={"connection": "cm", "cm_service": SERVICE}, **changes)


def put_files(work, machine, stream):
    """A file a source, with the end of the run at its end; returns the guest's paths."""
    machine.run("mkdir", "-p", GUEST_FILES)
    paths = []
    for source in stream.sources:
        path = work.path(f"{source:x}.mfp")
        with open(path, "wb") as file:
            file.writelines(blocks[source] for blocks in stream.blocks)
            file.write(ejfat_sender.encode_mfp(source, ejfat_sender.END_OF_RUN, []))
        paths.append(f"{GUEST_FILES}/{source:x}.mfp")
        machine.put(path, paths[-1])
        os.unlink(path)
    return paths


def rnr_naks(evb):
    with telemetry.Telemetry(evb.name) as client:
        return client.query("/evb/roce/info", "wire")["rnr_sent"]


@contextlib.contextmanager
def stopped_consumer(work, evb):
    """A consumer that takes nothing until evb has sent an RNR NAK, because no slot was free."""
    consumer = work.start(evbtest.program("slow_consumer"), evb.name, HELD, "0")
    consumer.wait_for_line("joined")
    consumer.suspend()

    def go_on():
        try:
            evb.wait_until(lambda: rnr_naks(evb) > 0, "an RNR NAK")
        finally:
            consumer.signal(signal.SIGCONT)

    thread = threading.Thread(target=go_on)
    thread.start()
    yield
    thread.join()
    check(rnr_naks(evb) > 0, "no RNR NAK was sent")


def run_verbs(operation, events, slots=256, to=rxe.PEER_ADDRESS, held=False, **faults):
    """verbs_mfp in the guest sends all events; each is exact. held: beside a stopped_consumer()."""
    machine = guest()
    with evbtest.Workspace() as work:
        stream = ejfat_sender.Stream(SOURCES, events, packing=4, size=(0, 600), first_event=400)
        # It ends when the guest has. A host whose request to disconnect nobody answers any more, as
        # that or the answer was lost, waits 70 s for each connection.
        evb = work.run(configuration(work, stream, slots, events={"on_end_of_run": "ignore"},
                                     event_ring={"groups": [HELD] if held else []}),
                       namespace=machine.namespace)
        paths = put_files(work, machine, stream)
        with machine.faults(**faults):
            with stopped_consumer(work, evb) if held else contextlib.nullcontext():
                said = machine.run("/tmp/verbs_mfp", operation, to, str(SERVICE), *paths)
            check(f"sent: {(events + 1) * len(stream.sources)} messages over "
                  f"{len(stream.sources)} connections" in said, said)
            summary = evb.drain()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(judge.event_counts(summary), (events, 0), "complete and incomplete events")
        judge.check_files(work.path("events"), stream.expected())


def test_send():
    run_verbs("send", EVENTS)
    run_verbs("send_imm", 250)


def test_write():
    run_verbs("write_imm", EVENTS)
    run_verbs("write", 250)


def test_ipv6():
    """The host finds evb by neighbour discovery, and connects."""
    guest().run("ip", "address", "replace", f"{GUEST_ADDRESS6}/64", "dev", "eth0", "nodad")
    run_verbs("write_imm", 500, to=PEER_ADDRESS6)
    run_verbs("send", 100, to=PEER_ADDRESS6)


def test_loss():
    """1 % of what either side sends is lost."""
    run_verbs("send", EVENTS, outward=("loss", "1%"), inward=("loss", "1%"))
    run_verbs("write_imm", EVENTS, outward=("loss", "1%"), inward=("loss", "1%"))


def test_reordering():
    faults = {"outward": ("delay", "1ms", "reorder", "5%")}
    run_verbs("send", EVENTS, **faults)
    run_verbs("write_imm", EVENTS, **faults)


def mfps_of(directory, found):
    """Adds the MFPs in the .mep files of a directory, flagged events included; returns how many."""
    n = 0
    for path in judge.files(directory):
        for event, blocks in judge.read_meps(path):
            for source, block in blocks.items():
                if not judge.is_error_mfp(block, judge.MISSING_TYPE):
                    check_equal(found.setdefault((event, source), block), block,
                                f"two MFPs of event {event}, source {source:#x}")
                    n += 1
    return n


def test_restarts():
    """evb is restarted under the sender: each MFP is in the files of one of its runs at least."""
    machine, events = guest(), 750 * RESTARTS
    with evbtest.Workspace() as work:
        stream = ejfat_sender.Stream(SOURCES, events, packing=4, size=(0, 200), first_event=400)
        paths = put_files(work, machine, stream)
        found, copies, said, dropped = {}, 0, [], set()
        sender = threading.Thread(target=lambda: said.append(machine.run(
            "/tmp/verbs_mfp", "write_imm", rxe.PEER_ADDRESS, str(SERVICE), *paths, status=None)))
        with contextlib.ExitStack() as slowed:
            # So that the sender does not end before the last restart.
            slowed.enter_context(machine.faults(outward=("rate", "4mbit")))
            for number in range(RESTARTS + 1):
                directory = work.folder(f"events{number}")
                evb = work.run(configuration(work, stream, 256, writers=[
                    {"name": "files", "directory": directory, "format": "mep"}]),
                               namespace=machine.namespace)
                if number == 0:
                    sender.start()
                evb.wait_until(lambda: said or
                               telemetry.summary(evb.name)["segments_received"] > 200, "segments")
                check(not said, f"the sender ended in run {number}: {said}")
                if number == RESTARTS:
                    slowed.close()
                    sender.join()  # the ends of the run may have come to the run before
                summary = evb.drain()
                dropped = dropped | evbtest.drops(summary).keys()
                copies += mfps_of(directory, found)
        check(said and f"sent: {(events + 1) * len(stream.sources)} messages" in said[0], said)
        expected = {(event, source): block for event, blocks in stream.expected().items()
                    for source, block in blocks.items()}
        check(dropped <= {"duplicate"}, f"segments were dropped: {dropped}")
        check_equal(found.keys() - expected.keys(), set(), "MFPs that were never sent")
        check_equal(len(expected.keys() - found.keys()), 0, "MFPs that are in no file")
        check(found == expected, "MFPs differ")
        print(f"{RESTARTS} restarts: {len(found)} MFPs, {copies - len(found)} of them twice; "
              f"{said[0].splitlines()[-1]}")


def test_few_slots():
    """RNR NAKs hold the sources back while a consumer holds both slots."""
    counter = "/sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_rnr_err"
    before = int(guest().run("cat", counter))
    run_verbs("write_imm", 500, slots=2, held=True)
    check(int(guest().run("cat", counter)) > before, "no RNR NAK came")


@contextlib.contextmanager
def server(program):
    """rdma_server in evb's place; yields its process."""
    machine = guest()
    tool = os.environ.get("EVB_RDMA_SERVER")
    if not tool:
        evbtest.skip("EVB_RDMA_SERVER names no program")
    with evbtest.Workspace() as work:
        process = work.start(tool, program, rxe.DEVICE, rxe.PEER_ADDRESS, str(PORTS[program]),
                             namespace=machine.namespace)
        process.wait_for_line("ready")
        yield process
        check(process.running(), f"ended: {process.describe()}")
        check_equal(process.stop(), 0, f"status of {process.describe()}")
        check("failed" not in process.output(), f"failed: {process.describe()}")


def ping_pong(count, size, **faults):
    """rping as client: its buffer is READ, and what was read is WRITTEN back and compared."""
    machine = guest()
    with server("rping") as process, machine.faults(**faults):
        said = machine.run("rping", "-c", "-a", rxe.PEER_ADDRESS, "-p", str(PORTS["rping"]), "-v",
                           "-V", "-C", str(count), "-S", str(size))
        check_equal(said.count("ping data: rdma-ping-"), count, f"pings in {said[-2000:]}")
        process.wait_for_line("gone 0")


def test_rping():
    ping_pong(50, 64)
    ping_pong(20, 5000)


def test_rping_with_loss():
    ping_pong(30, 5000, outward=("loss", "2%"), inward=("loss", "2%"))


def bandwidth(program, size, count):
    machine = guest()
    with server("perftest") as process:
        said = machine.run(program, "-R", "-d", "rxe0", "-F", "-p", str(PORTS["perftest"]), "-s",
                           str(size), "-n", str(count), rxe.PEER_ADDRESS)
        check(f" {size} " in said, f"no result in {said}")
        line = process.wait_for_line("gone 1: ")
        check_equal(line, f"gone 1: {count} messages, {size * count} bytes", "data that came")


def test_ib_send_bw():
    bandwidth("ib_send_bw", 65536, 200)


def test_ib_write_bw():
    bandwidth("ib_write_bw", 65536, 200)


if __name__ == "__main__":
    evbtest.main()
