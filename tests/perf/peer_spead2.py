# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""spead2 (github.com/ska-sa/spead2), which reassembles UDP datagrams into heaps on the receiver's heap.

Its programs send and receive heaps of the size of an MFP over the path of the sub-suite `kernel`: from
a kernel's UDP sockets through a veth pair. spead2 receives with a socket, too. Its sender is paced, and the
result is that of the highest rate at which nearly all heaps are complete.

Its sender gives the kernel many packets as one buffer (UDP GSO), and a veth pair carries that as one frame of up to
64 kB, as no wire does. So it is measured with segmentation before the veth pair, too.
"""

import os
import re

import network
from evbtest import check_equal, wait_until
from runs import UDP_HEADERS, Unavailable
from suites_paths import highest_rate

HEAP = 20_000  # bytes of data
COMPLETE = 0.99  # share of the heaps, at a rate that counts
SENDER = "spead2_send"  # stands beside the receiver
STEPS = 5  # of the bisection of the rate
_PORT = 19522
_HEADER = 72  # bytes in each packet that are no data: SPEAD's header, and its item pointers
_FAILED_S = 5.0  # after which a receiver that has lost the end of the stream is given up


def sender_of(program):
    """The path of its sender. Raises Unavailable."""
    path = os.path.join(os.path.dirname(program), SENDER)
    if not os.access(path, os.X_OK):
        raise Unavailable(f"{path} is missing: build the target {SENDER}, too")
    return path


def seconds_sent(text):
    """How long the sender has sent, by what it prints."""
    return float(re.search(r"Sent \d+ bytes in ([0-9.e+-]+) seconds", text)[1])


def heaps_received(text):
    """Complete heaps, by what the receiver prints; 0 if it has seen no end."""
    found = re.search(r"Received (\d+) heaps", text)
    return int(found[1]) if found else 0


def result(heaps, received, seconds):
    """Of a run. `lost` is 0 if enough heaps are complete."""
    complete = received / heaps
    return {"built": received * HEAP / seconds, "sent_events": heaps / seconds, "complete": complete,
            "lost": 0 if complete >= COMPLETE else heaps - received}


def _is_bound(net):
    with net.evb.entered(), open("/proc/thread-self/net/udp", encoding="ascii") as file:
        return f":{_PORT:04X} " in file.read()


def _run(bench, work, net, program, mtu, heaps, rate):
    """So many heaps, at so many per second; 0: as fast as it can."""
    receiver = work.start("taskset", "-c", str(bench.first), program, "--quiet", "--packet", str(mtu),
                          f"{network.EVB_ADDRESS}:{_PORT}", namespace=net.evb)
    wait_until(lambda: _is_bound(net), "the receiver is there", shown=receiver.describe)
    sender = work.start("taskset", "-c", str(bench.second), sender_of(program), "--heap-size", str(HEAP),
                        "--packet", str(mtu - UDP_HEADERS), "--heaps", str(heaps),
                        "--rate", str(rate * HEAP * 8e-9), f"{network.EVB_ADDRESS}:{_PORT}",
                        namespace=net.host)
    sender.finish()
    check_equal(sender.status, 0, f"status of {sender.describe()}")
    try:
        wait_until(lambda: not receiver.running(), "the receiver has seen the end", _FAILED_S)
    except AssertionError:
        pass
    receiver.kill()
    return result(heaps, heaps_received(receiver.output()), seconds_sent(sender.output()))


def measure(bench, work, program, mtu, is_segmented):
    """The highest rate of heaps of which nearly all are complete, in packets of this MTU."""
    net = work.enter(network.Network(mtu, checksum_offload=True))
    net.evb.add_address(f"{network.EVB_ADDRESS}/24")
    if is_segmented:
        net.host.disable_segmentation_offload()
    first = _run(bench, work, net, program, mtu, 10_000, 0)

    def paced(rate):
        # Whether the sender keeps this pace does not matter: the data that has arrived is counted.
        heaps = max(500, int(rate * bench.window))
        return {**_run(bench, work, net, program, mtu, heaps, rate), "sent_events": rate}

    best = highest_rate(paced, first["sent_events"], STEPS)
    if best is None:
        raise Unavailable("spead2 loses more than 1 % of the heaps at each rate")
    return {**best, "fragments": best["built"] / (mtu - UDP_HEADERS - _HEADER)}
