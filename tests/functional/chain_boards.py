# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Boards of the chain: they know nothing of evb, and send the MFPs of a file as EJFAT segments
through UDP sockets of the kernel, one per source. Boards cannot be pushed back, but their trigger
can: it asks for bursts of events, and all boards send a burst at once, each in its own order.

As a program this is the boards of one readout node:

    chain_boards.py ADDRESS PORT MTU FILE N

FILE has N events; event e has the MFPs of event e % N of the file. For each line with a number on
the standard input it sends the events below this number, as fast as the kernel takes them, in
random turns of the boards; then it prints how many packets these were and the seconds. At the
end of the input each board sends its end-of-run MFP.
"""

import random
import socket
import struct
import sys
import time

import ejfat_sender
import evbtest
import telemetry
from evbtest import check, check_equal

MTU = 1500
UDP_PORT = 20000
ADDRESSES = {"ru0": "10.88.0.10", "ru1": "10.88.1.10"}
RING = 8192  # packets that a port holds while its process does not run
BURST = 128  # events, at most


# --- the boards --------------------------------------------------------------------------------


class Board:
    """One source, with a socket of its own."""

    def __init__(self, udp_socket, source, blocks, payload_size):
        self._socket = udp_socket
        self._source = source
        self._blocks = blocks
        self._payload_size = payload_size

    def packets(self, event):
        block = self._blocks[event % len(self._blocks)]
        # The id of the event stands in bytes 8 to 15 of an MFP.
        return ejfat_sender.cut(self._source, event,
                                block[:8] + struct.pack("<Q", event) + block[16:],
                                self._payload_size)

    def send(self, segment):
        self._socket.sendmsg((segment.header(), segment.payload))

    def send_end(self):
        block = ejfat_sender.encode_mfp(self._source, ejfat_sender.END_OF_RUN, [])
        for segment in ejfat_sender.cut(self._source, ejfat_sender.END_OF_RUN, block, len(block)):
            self.send(segment)


def mfps_of(data):
    """(event id, source, MFP) of each in the bytes of a file."""
    offset = 0
    while offset < len(data):
        size, event, source = struct.unpack_from("<IQH", data, offset + 4)
        yield event, source, data[offset:offset + size]
        offset += size


def boards_of(path, n_events, address, port, mtu):
    blocks = {}
    with open(path, "rb") as file:
        for _, source, mfp in mfps_of(file.read()):
            blocks.setdefault(source, []).append(mfp)
    check(all(len(of_source) == n_events for of_source in blocks.values()),
          f"{path}: not {n_events} events of each source")
    size = mtu - ejfat_sender.IP_UDP_SIZE - ejfat_sender.RE_SIZE
    return [Board(ejfat_sender.connect(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), address,
                                       port), source, of_source, size)
            for source, of_source in blocks.items()]


def burst(boards, events, draw):
    """All boards at once. Returns (packets, seconds)."""
    queues = [[segment for event in events for segment in board.packets(event)]
              for board in boards]
    turns = [number for number, queue in enumerate(queues) for _ in queue]
    draw.shuffle(turns)
    left = [iter(queue) for queue in queues]
    start = time.monotonic()
    for number in turns:
        boards[number].send(next(left[number]))
    return len(turns), time.monotonic() - start


def main(address, port, mtu, path, n_events):
    boards = boards_of(path, int(n_events), address, int(port), int(mtu))
    draw = random.Random(1)
    done = 0
    for line in sys.stdin:
        print(*burst(boards, range(done, int(line)), draw), flush=True)
        done = int(line)
    for board in boards:
        board.send_end()


# --- their trigger -----------------------------------------------------------------------------


def packets_of(blocks):
    """That the MFPs take."""
    size = MTU - ejfat_sender.IP_UDP_SIZE - ejfat_sender.RE_SIZE
    return sum(-(-len(mfp) // size) for mfp in blocks)


class Boards:
    """The boards of all readout nodes, and their trigger. A burst is no larger than the receive
    ring of a port, and the next one is triggered when the nodes have taken the burst before and
    their stores have room for one more: so nothing is lost, however late a node gets the CPU."""

    def __init__(self, recording):
        self._recording = recording
        per_event = max(packets_of(blocks[source] for source in sources)
                        for sources in recording.sources.values() for blocks in recording.events)
        self.burst = max(1, min(BURST, RING // per_event - 1))
        self.processes = {}
        self.bursts = 0
        self._nodes = {}  # their telemetry

    def configure(self, configuration):
        """Readout nodes with ports for boards, and with stores that have room."""
        for node in configuration["nodes"]:
            for generator in node.get("generators", ()):
                sources = self._recording.sources[node["name"]]
                largest = max(sum(-(-len(blocks[source]) // 64) * 64 for source in sources)
                              for blocks in self._recording.events)
                block = self._recording.largest_block
                generator.pop("producer")
                generator.update(kind="port", listen={
                    "port": "boards", "udp_port": UDP_PORT, "max_block": block,
                    # Of 2 bursts; twice that, because memory is used again in pieces.
                    "size": 4 * self.burst * largest + 16 * max(block, 4096)})
                node["ports"].append({
                    "name": "boards", "profile": "af_packet", "device": "boards", "mtu": MTU,
                    "address": f"{ADDRESSES[node['name']]}/24", "options": {"framecnt": RING}})

    @staticmethod
    def cables():
        """{node: address of the boards}, of cluster.SystemWithBoards."""
        return {node: f"{address.rpartition('.')[0]}.200/24"
                for node, address in ADDRESSES.items()}

    def start(self, work, system):
        boards = system.bridge.nodes["boards"]
        for node, address in ADDRESSES.items():
            # While the kernel waits for an answer to ARP, it drops most of a burst.
            boards.add_neighbour(address, system.bridge.nodes[node].hardware_address("boards"),
                                 system.cable(node))
            self._nodes[node] = work.enter(telemetry.Telemetry(f"{system.name}-{node}"))
            self.processes[node] = work.start(
                sys.executable, __file__, address, str(UDP_PORT), str(MTU),
                self._recording.files[node], str(self._recording.n_events),
                namespace=boards, listens=True)

    def play(self, events, limit):
        """Triggers so many events, and waits for the boards."""
        for end in (*range(self.burst, events, self.burst), events):
            for node in self.processes:
                self._wait_for_room(node)
            check(time.monotonic() < limit, f"not triggered in time: events from {end} of {events}")
            for process in self.processes.values():
                process.say(f"{end}\n")
            self.bursts += 1
        for process in self.processes.values():
            process.close_input()
            process.finish(limit - time.monotonic())
            check_equal(process.status, 0, process.describe())

    def _wait_for_room(self, node):
        process, sent = self.processes[node], ()
        limit = time.monotonic() + evbtest.PATIENCE_S
        while True:
            check(process.running(), f"ended by itself: {process.describe()}")
            sent = self.sent(node)
            readout = self._nodes[node].query("/evb/readout/info", "boards")
            packets, placed = sum(one for one, _ in sent), readout["boards_placed"]
            if len(sent) == self.bursts and placed == packets and \
                    readout["store_events"] <= self.burst:
                return
            if time.monotonic() > limit:
                self._fail(node, packets)
            time.sleep(0.002)

    def _fail(self, node, packets):
        """With all that the node has counted since its start."""
        counted = {key: value for command in (("/evb/summary",), ("/evb/readout/info", "boards"))
                   for key, value in self._nodes[node].query(*command).items() if value}
        raise evbtest.Failure(f"{packets} packets sent by the boards of {node} in "
                              f"{len(self.sent(node))} of {self.bursts} bursts: {counted}")

    def sent(self, node):
        """(packets, seconds) of each burst."""
        lines = self.processes[node].lines
        return [(int(packets), float(seconds)) for packets, seconds in map(str.split, lines)]

    def describe(self):
        bursts = [one for node in self.processes for one in self.sent(node)]
        packets, seconds = zip(*bursts)
        return f"boards: {sum(packets)} packets by UDP in {self.bursts} bursts of up to " \
               f"{self.burst} events, which are up to {max(packets)} packets per readout node " \
               f"in {sum(seconds) / len(seconds) * 1000:.0f} ms; highest rate " \
               f"{max(n / s for n, s in bursts):.0f} packets/s per readout node"


if __name__ == "__main__":
    main(*sys.argv[1:])
