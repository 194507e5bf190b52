# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Private networks for tests. Network: two network namespaces joined by a veth pair.

    kernel host, 10.0.0.1      the appliance, 10.0.0.2
        [ veth-a ] ---------------- [ veth-b ]

End b has no address of its own: whoever answers there is the program under test.

Bridge: a namespace for each node of a system, all joined by a bridge in one more; the nodes' ends
have no addresses of their own either. Pair: the same for two nodes, without a bridge.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import select
import socket
import struct
import subprocess
import time

import evbtest

_CLONE_NEWNET = 0x40000000
_SIOCETHTOOL = 0x8946
_ETHTOOL_STXCSUM = 0x17
_libc = ctypes.CDLL(None, use_errno=True)

HOST_ADDRESS = "10.0.0.1"
EVB_ADDRESS = "10.0.0.2"


def _ip(*arguments):
    result = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    evbtest.check(result.returncode == 0, f"ip {' '.join(arguments)}: {result.stderr.strip()}")


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


def _sweep():
    """Removes namespaces of tests that were killed before they could."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    for name, pid in re.findall(r"^(evbtest-(\d+)-\S+)", listed.stdout, re.MULTILINE):
        if not _is_alive(int(pid)):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


class Namespace:
    """One network namespace with one end of the veth pair."""

    def __init__(self, name, device):
        self.name = name
        self.device = device
        _ip("netns", "add", name)
        self._file = os.open(f"/var/run/netns/{name}", os.O_RDONLY | os.O_CLOEXEC)

    def delete(self):
        os.close(self._file)
        _ip("netns", "delete", self.name)

    def join(self):
        """Moves the calling thread into the namespace for good."""
        if _libc.setns(self._file, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")

    @contextlib.contextmanager
    def entered(self):
        """Sockets made inside the block belong to the namespace, also after it."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.join()
            yield
        finally:
            _libc.setns(home, _CLONE_NEWNET)
            os.close(home)

    def socket(self, *arguments):
        with self.entered():
            return socket.socket(*arguments)

    def hardware_address(self, device=None):
        with self.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as probe:
            probe.bind((device or self.device, 0))
            return probe.getsockname()[4]

    def sent(self):
        """Frames that have left the device."""
        return self._counter(9)

    def not_sent(self):
        """Frames that the device has dropped in place of sending them."""
        return self._counter(11)

    def _counter(self, column):
        with self.entered(), open("/proc/net/dev", encoding="ascii") as file:
            [line] = (line for line in file if line.strip().startswith(f"{self.device}:"))
        return int(line.partition(":")[2].split()[column])

    def add_address(self, address):
        _ip("-n", self.name, "address", "add", address, "dev", self.device)

    def enable_ipv6(self, address):
        """Gives the device an IPv6 address; without, namespaces here have none."""
        with self.entered():
            with open(f"/proc/sys/net/ipv6/conf/{self.device}/disable_ipv6", "w",
                      encoding="ascii") as file:
                file.write("0")
        _ip("-n", self.name, "address", "add", address, "dev", self.device, "nodad")

    def add_neighbour(self, address, mac, device=None):
        """Packets to the address go to this MAC address, without ARP."""
        _ip("-n", self.name, "neighbour", "add", address, "lladdr", mac.hex(":"), "dev",
            device or self.device)

    def disable_segmentation_offload(self):
        """The kernel segments what sockets give it as one buffer (UDP_SEGMENT) before the device, which would
        carry it as one frame."""
        _ip("-n", self.name, "link", "set", "dev", self.device, "gso_max_segs", "1")

    def set_checksum_offload(self, enabled):
        """With the offload, packets leave a veth with UDP checksums that nobody has computed."""
        value = ctypes.create_string_buffer(struct.pack("II", _ETHTOOL_STXCSUM, int(enabled)))
        request = struct.pack("16sP8x", self.device.encode(), ctypes.addressof(value))
        with self.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            fcntl.ioctl(control, _SIOCETHTOOL, request)


def _make_namespace(stack, letter, device):
    """A namespace that goes when the stack is closed."""
    try:
        namespace = Namespace(f"evbtest-{os.getpid()}-{letter}", device)
    except (OSError, evbtest.Failure) as error:
        evbtest.skip(f"no network namespaces here: {error}")
    stack.callback(namespace.delete)
    with namespace.entered(), contextlib.suppress(FileNotFoundError):
        # Its router solicitations would be packets that the test did not send.
        with open("/proc/sys/net/ipv6/conf/all/disable_ipv6", "w", encoding="ascii") as file:
            file.write("1")
    return namespace


class _Namespaces(evbtest.Fixture):
    """Namespaces, devices and what else goes with them."""

    def __enter__(self):
        evbtest.need_root()
        _sweep()
        return super().__enter__()


class Network(_Namespaces):
    """Context manager: makes the pair, removes it with everything in it."""

    def __init__(self, mtu=1500, checksum_offload=False):
        self._mtu = mtu
        self._checksum_offload = checksum_offload
        super().__init__()
        self.host = self.evb = None

    def _make(self):
        self.host = _make_namespace(self._stack, "a", "veth-a")
        self.evb = _make_namespace(self._stack, "b", "veth-b")
        _ip("link", "add", self.host.device, "netns", self.host.name, "mtu", str(self._mtu),
            "type", "veth", "peer", "name", self.evb.device, "netns", self.evb.name,
            "mtu", str(self._mtu))
        _ip("-n", self.host.name, "address", "add", f"{HOST_ADDRESS}/24", "dev", self.host.device)
        for namespace in (self.host, self.evb):
            namespace.set_checksum_offload(self._checksum_offload)
            _ip("-n", namespace.name, "link", "set", "lo", "up")
            _ip("-n", namespace.name, "link", "set", namespace.device, "up")


class Bridge(_Namespaces):
    """Context manager: makes the bridge and the nodes' namespaces, removes them with everything in
    them.

    devices: {node: (device, MTU)}. `nodes` has the namespaces, in which the devices are up.
    prefix: of the namespaces' names, where a process makes several bridges.
    """

    def __init__(self, devices, prefix=""):
        self._devices = devices
        self._prefix = prefix
        super().__init__()
        self.nodes = {}
        self.bridge = None

    def port(self, node):
        """The bridge's device at the other end of a node's."""
        return f"port{list(self._devices).index(node)}"

    def _make(self):
        self.bridge = _make_namespace(self._stack, self._prefix + "bridge", "bridge")
        _ip("-n", self.bridge.name, "link", "add", "bridge", "mtu",
            str(max(mtu for _, mtu in self._devices.values())), "type", "bridge")
        _ip("-n", self.bridge.name, "link", "set", "bridge", "up")
        for node, (device, mtu) in self._devices.items():
            namespace = _make_namespace(self._stack, self._prefix + node, device)
            self.nodes[node] = namespace
            _ip("link", "add", device, "netns", namespace.name, "mtu", str(mtu), "type", "veth",
                "peer", "name", self.port(node), "netns", self.bridge.name, "mtu", str(mtu))
            _ip("-n", self.bridge.name, "link", "set", self.port(node), "master", "bridge", "up")
            _ip("-n", namespace.name, "link", "set", "lo", "up")
            _ip("-n", namespace.name, "link", "set", device, "up")


def join(a, a_device, b, b_device, address, mtu=1500):
    """One more veth pair, between two namespaces; a's end has the address."""
    _ip("link", "add", a_device, "netns", a.name, "mtu", str(mtu), "type", "veth", "peer", "name",
        b_device, "netns", b.name, "mtu", str(mtu))
    _ip("-n", a.name, "address", "add", address, "dev", a_device)
    for namespace, device in ((a, a_device), (b, b_device)):
        _ip("-n", namespace.name, "link", "set", device, "up")


class Pair(_Namespaces):
    """Context manager: the namespaces of two nodes, joined by one veth pair, so that what a bridge
    does not pass on (pause frames) gets through. devices and `nodes` as of Bridge."""

    def __init__(self, devices):
        self._devices = devices
        super().__init__()
        self.nodes = {}

    def _make(self):
        ends = []
        for node, (device, mtu) in self._devices.items():
            self.nodes[node] = _make_namespace(self._stack, node, device)
            ends.append(("name", device, "netns", self.nodes[node].name, "mtu", str(mtu)))
        _ip("link", "add", *ends[0], "type", "veth", "peer", *ends[1])
        for namespace in self.nodes.values():
            _ip("-n", namespace.name, "link", "set", "lo", "up")
            _ip("-n", namespace.name, "link", "set", namespace.device, "up")


def _internet_checksum(data):
    total = int.from_bytes(data + b"\0" * (len(data) % 2), "big") % 0xFFFF
    return 0xFFFF - total


def ping(namespace, address, count=3, size=56, timeout=5.0):
    """Echo requests from the namespace's kernel; returns how many were answered right."""
    identifier = os.getpid() & 0xFFFF
    answered = 0
    with namespace.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
        for number in range(count):
            payload = os.urandom(size)
            head = struct.pack("!BBHHH", 8, 0, 0, identifier, number)
            checksum = _internet_checksum(head + payload)
            icmp.sendto(struct.pack("!BBHHH", 8, 0, checksum, identifier, number) + payload,
                        (address, 0))
            end = time.monotonic() + timeout
            while select.select([icmp], [], [], max(0, end - time.monotonic()))[0]:
                packet = icmp.recv(65536)
                reply = packet[(packet[0] & 15) * 4:]
                if (reply[0], reply[4:8]) == (0, head[4:8]):
                    answered += reply[8:] == payload and _internet_checksum(reply) in (0, 0xFFFF)
                    break
    return answered
