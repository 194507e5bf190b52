# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems of several nodes: one process a node, each in a network namespace, over a bridge."""

import contextlib
import copy
import json
import os
import shutil
import socket
import time

import evbtest
import network
from evbtest import Failure, check, check_equal

CONFIGS = os.path.join(evbtest.REPOSITORY, "configs")


def shipped(name):
    """A configuration of configs/, without the path of its schema."""
    with open(os.path.join(CONFIGS, name), encoding="utf-8") as file:
        configuration = json.load(file)
    configuration.pop("$schema", None)
    return configuration


def frugal(configuration):
    """The same with short rings and queues at its af_packet ports, and longer sleeps: at the start of
    each node the kernel clears what the shipped ones need, 300 MB for what a 10 Gb/s link brings in
    30 ms and 200 MB of packets; and the nodes share few CPUs. The short rings and links hold what is
    in flight to a builder that does not run: packets of 1420 bytes for the window, and one that is
    not full of each source of 64 events."""
    result = copy.deepcopy(configuration)
    if "event_manager" in result and result["event_manager"].get("mode") != "static":
        result["event_manager"].setdefault("window", "4MiB")
    result.setdefault("links", {}).setdefault("depth", 4096)
    result.setdefault("idle", {"policy": "adaptive", "yields": 2, "sleep": "1ms"})
    for node in result["nodes"]:
        for port in node["ports"]:
            if port["profile"] == "af_packet":
                frames = 8192 if port.get("mtu", 1500) <= 1500 else 28 * 64
                port.setdefault("options", {}).setdefault("framecnt", frames)
                port.setdefault("rx_descriptors", 1024)
                port.setdefault("tx_descriptors", 1024)
    return result


def only_nodes(configuration, *names):
    """The same system without its other nodes, and their sources."""
    result = copy.deepcopy(configuration)
    result["nodes"] = [node for node in result["nodes"] if node["name"] in names]
    result["sources"]["ids"] = [ids for node in result["nodes"]
                                for generator in node.get("generators", ())
                                for ids in generator["ids"]]
    return result


def ask(path, command="status", timeout=evbtest.PATIENCE_S):
    """What the process at this control socket responds to a command."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(timeout)
        client.connect(path)
        client.send(json.dumps({"command": command}).encode())
        return json.loads(client.recv(1 << 20))


class System:
    """Context manager. The nodes of a configuration (dict, its name is the caller's to choose), to
    be started one by one or all; what they leave behind goes with the system. launcher: a command
    that runs each node's. prefix: see network.Bridge."""

    def __init__(self, work, configuration, launcher=(), prefix=""):
        self.configuration = configuration
        self.name = configuration["name"]
        self.nodes = [node["name"] for node in configuration["nodes"]]
        self.manager = next(node["name"] for node in configuration["nodes"]
                            if node.get("manager"))
        self.processes = {}
        self._work = work
        self._launcher = launcher
        self.file = work.write(f"{prefix}system.json", frugal(configuration))
        self._prefix = prefix
        self._stack = contextlib.ExitStack()
        self._starts = 0
        self.bridge = None

    def __enter__(self):
        self.bridge = self._stack.enter_context(network.Bridge(self.devices(), self._prefix))
        self._stack.callback(self._clean)
        return self

    def __exit__(self, failure=None, *_):
        for node, process in self.processes.items():
            if failure is not None:
                print(f"node {node} before the failure: {process.describe()}")
            process.__exit__()
        self._stack.close()

    def devices(self):
        """{node: (device, MTU)}"""
        return {node["name"]: (node["ports"][0]["device"], node["ports"][0].get("mtu", 1500))
                for node in self.configuration["nodes"]}

    def _clean(self):
        for node in self.nodes:
            name = f"{self.name}-{node}"
            shutil.rmtree(os.path.join(evbtest.runtime_directory(), f"evb-{name}"),
                          ignore_errors=True)
            with contextlib.suppress(OSError):
                os.unlink(evbtest.control_socket(name))

    def launch(self, node, *arguments):
        """Starts a node and does not wait for it."""
        self._starts += 1
        summary = self._work.path(f"{self._prefix}summary-{node}-{self._starts}.json")
        process = self._work.start(
            *self._launcher, evbtest.binary(), "run", self.file, "--node", node, "--summary", summary, *arguments,
            namespace=self.bridge.nodes[node], summary=summary, name=f"{self.name}-{node}")
        self.processes[node] = process
        return process

    def start(self, *nodes, arguments=()):
        """Starts these nodes, or all, and waits until they are running."""
        nodes = nodes or self.nodes
        for node in nodes:
            self.launch(node, *arguments)
        for node in nodes:
            self.processes[node].wait_for_line("running")

    def ctl(self, *command, node=None):
        """`evb ctl` with the system's configuration, run to its end."""
        options = ("--node", node) if node else ()
        return self._work.evb("ctl", *options, self.file, *command)

    def launch_ctl(self, *command):
        """The same, not waited for."""
        return self._work.start(evbtest.binary(), "ctl", self.file, *command)

    def command(self, *command):
        """A command to the manager that it must carry out."""
        process = self.ctl(*command)
        check_equal((process.status, process.output()), (0, ""), process.describe())

    def ask(self, node=None, timeout=evbtest.PATIENCE_S):
        """The same as status(), by the socket that `evb ctl` uses."""
        return ask(evbtest.control_socket(f"{self.name}-{node or self.manager}"), timeout=timeout)

    def status(self, node=None):
        process = self.ctl("status", "--json", node=node)
        check_equal(process.status, 0, process.describe())
        return json.loads(process.output())

    def wait_for(self, predicate, what, node=None, timeout=evbtest.PATIENCE_S):
        """Asks for the status until the predicate holds for it, and returns it."""
        end = time.monotonic() + timeout
        while True:
            status = self.ask(node)
            if predicate(status):
                return status
            check(time.monotonic() < end, f"not in {timeout} s: {what}: {json.dumps(status)}")
            time.sleep(0.02)

    def wait_for_state(self, state, nodes=None):
        """Until each of these nodes, or all, says so itself."""
        for node in nodes or self.nodes:
            self.wait_for(lambda status: status["state"] == state, f"{node} is {state}", node)

    def end(self, timeout=evbtest.PATIENCE_S, nodes=None):
        """Waits for the end of the nodes by themselves; their summaries by node."""
        nodes = nodes or self.nodes
        end = time.monotonic() + timeout
        while any(self.processes[node].running() for node in nodes):
            if time.monotonic() > end:
                raise Failure(f"not over after {timeout} s: {self._describe(nodes)}")
            time.sleep(0.05)
        return {node: self.processes[node].end() for node in nodes}

    def _describe(self, nodes):
        """What those that still run say."""
        shown = [self.ctl("status", "--json", node=node).output() for node in nodes
                 if self.processes[node].running()]
        return "\n".join(shown)


class SystemWithBoards(System):
    """A system, and the namespace `boards`, which has a cable of its own to port `boards` of some
    nodes. cables: {node: address of the boards at this cable}."""

    def __init__(self, work, configuration, cables):
        super().__init__(work, configuration)
        self._cables = cables

    def devices(self):
        return {**super().devices(), "boards": ("eth1", 1500)}

    def __enter__(self):
        super().__enter__()
        for node, address in self._cables.items():
            network.join(self.bridge.nodes["boards"], self.cable(node), self.bridge.nodes[node],
                         "boards", address)
        return self

    @staticmethod
    def cable(node):
        """The device of the boards at their end."""
        return f"to-{node}"
