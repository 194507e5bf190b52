# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""evb-ejfat against a stand-in for an EJFAT load balancer that checks every message
(ejfat_balancer.py), and two evb workers behind it."""

import contextlib
import importlib.util
import io
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time

import bottleneck
import evbtest
import network
import telemetry
import test_stages
from appliance import merged
from evbtest import check, check_equal

sys.path.insert(0, os.path.join(evbtest.REPOSITORY, "app", "ejfat"))

import ejfat_uri  # noqa: E402
import evb_ejfat  # noqa: E402
import refusal  # noqa: E402
import sender  # noqa: E402
import worker  # noqa: E402

HELPER = os.path.join(evbtest.REPOSITORY, "app", "ejfat", "evb_ejfat.py")
STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ejfat_balancer.py")
INTERVAL_S = 0.1


def need_grpc():
    if importlib.util.find_spec("grpc") is None:
        evbtest.skip("python3-grpcio is not installed")
    if shutil.which("protoc") is None:
        evbtest.skip("protobuf-compiler is not installed")


# --- without a balancer ------------------------------------------------------------------------


def test_uri():
    full = "ejfats://t%2Fk@lb.example.org:18008/lb/17?sync=192.0.2.6:19010&data=192.0.2.10" \
           "&data=[2001:db8::10]:10000&sessionid=9"
    uri = ejfat_uri.parse(full)
    check_equal((uri.tls, uri.token, uri.target(), uri.lb_id, uri.session_id),
                (True, "t/k", "lb.example.org:18008", "17", "9"), "parts")
    check_equal([(str(address), port) for address, port in uri.sync], [("192.0.2.6", 19010)],
                "sync")
    check_equal(list(map(str, uri.data)), ["192.0.2.10", "2001:db8::10"], "data")
    check("t/k" not in repr(uri), "the token is shown")
    check_equal(str(uri), full.replace("]:10000", "]"), "written again")
    check_equal(str(ejfat_uri.parse("export EJFAT_URI='ejfat://a@[2001:db8::1]:18020'\n")),
                "ejfat://a@[2001:db8::1]:18020/", "as a shell has it")
    uri = ejfat_uri.parse("ejfat://a@10.0.0.1:1/lb/3?data=10.0.0.2:16384-32767&sync=[::1]:5"
                          "&sync=10.0.0.1:4")
    check_equal(uri.sync[0][1], 4, "IPv4 comes first")
    for bad, why in (("http://a@b:1/", "begin with ejfat"), ("ejfat://secret@10.0.0.1/", "HOST:PORT"),
                     ("ejfat://secret@h:0/", "no port"), ("ejfat://secret@h:65536/", "no port"),
                     ("ejfat://secret@h:1/x/3", "not /lb/ID"),
                     ("ejfat://secret@h:1/lb/3?sync=10.0.0.1", "lacks the port"),
                     ("ejfat://secret@h:1/lb/3?sync=host:5", "no IP address"),
                     ("ejfat://secret@h:1/lb/3?data=10.0.0.1:x", "no port"),
                     ("ejfat://secret@h:1/lb/3?dat=10.0.0.1", "none of"),
                     ("ejfat://secret@[::1]", "HOST:PORT"), ("ejfat:", "begin with")):
        try:
            ejfat_uri.parse(bad)
        except refusal.Refusal as line:
            check(why in str(line) and "secret" not in str(line), f"{bad}: {line}")
        else:
            raise evbtest.Failure(f"{bad} is accepted")


def test_rates_and_signals():
    rate = sender.Rate()
    check_equal([rate.add(tick, at) for tick, at in (
        (0, 1.0), (0, 2.0), (1000, 3.0), (3000, 4.0), (3000, 6.0), (3000, 8.0))],
        [1, 1, 500, 1500, 667, 1], "rates")
    check_equal([rate.add(10, 9.0), rate.add(10 + 2**40, 10.0)], [1, 2**32 - 1], "a new run")
    check_equal([worker.control_signal(fill, 100, 0.5) for fill in (0, 0.5, 1)], [50, 0, -50],
                "control signals")


def refused(arguments, uri, text, status=1):
    """evb-ejfat in this process ends with one line that contains the text."""
    errors = io.StringIO()
    before, sys.argv = sys.argv, ["evb-ejfat", *arguments]
    os.environ["EJFAT_URI"] = uri
    try:
        with contextlib.redirect_stderr(errors):
            found = evb_ejfat.main()
    except SystemExit as end:
        found = end.code
    finally:
        sys.argv = before
        del os.environ["EJFAT_URI"]
    check_equal(found, status, f"status of {arguments}")
    line = errors.getvalue().splitlines()[-1]
    check(text in line and "secret" not in line, f"{arguments}: {line}")


def test_arguments():
    good = "ejfat://secret@10.0.0.1:18020/lb/1?sync=10.0.0.1:19010"
    own = ["worker", "--address", "10.0.0.2"]
    refused(own, "", "EJFAT_URI: is empty")
    refused(own, "ejfat://10.0.0.1:18020/lb/1", "has no token")
    refused(own, "ejfat://secret@10.0.0.1:18020/", "names no reservation")
    refused(["reserve", "run 7"], good, "is no name", status=2)
    refused(["reserve", "x"], good, "is that of a reservation")
    refused(["sender", "--uri-file", "/nowhere"], "", "--uri-file: /nowhere: No such file")
    refused([*own, "--udp-ports", "3"], good, "3 is no power of 2")
    refused([*own, "--udp-port", "65535", "--udp-ports", "2"], good, "end above 65535")
    refused([*own, "--max-factor", "0.2"], good, "is below --min-factor")
    for wrong, text in ((["--interval", "2s"], "is not from 0.1 to 1 s"), (["--as", "a..b"], "no name"),
                        (["--gain", "nan"], "is not from"), (["--interval", "1x"], "is no time"),
                        (["--address", "host"], "no IP address"), (["--weight", "0"], "is not from")):
        refused([*own, *wrong], good, text, status=2)


# --- with the stand-in -------------------------------------------------------------------------


class StandIn:
    """The stand-in as a process; its messages."""

    def __init__(self, work, *arguments, namespace=None):
        self.process = work.start(sys.executable, STAND_IN, *arguments, namespace=namespace)
        first = json.loads(self.process.wait_for_line('"serving"'))
        self.port, self.sync_port = first["serving"], first["sync"]

    def messages(self, call=None):
        found = [json.loads(line) for line in self.process.lines if line.startswith('{"call"')]
        return [message for message in found if call in (None, message["call"])]

    def wait_for(self, what, predicate, helper=None):
        """Until a message satisfies the predicate; returns it."""
        found = []

        def seen():
            found[:] = [message for message in self.messages() if predicate(message)]
            return found
        (helper or self.process).wait_until(seen, what)
        return found[0]

    def check_right(self):
        check_equal(self.process.errors(), "", "errors of the stand-in")
        wrong = [message for message in self.messages() if "wrong" in message]
        check_equal(wrong, [], "messages against the protocol")

    def end(self):
        """Stops it and returns what it summed up; nothing may have been wrong."""
        self.process.stop()
        self.check_right()
        return json.loads(self.process.lines[-1])


def start_helper(work, uri, *arguments, namespace=None):
    return work.start(sys.executable, HELPER, *arguments, environment={"EJFAT_URI": uri},
                      namespace=namespace)


def ended(process, status=0):
    """Waits for the end of evb-ejfat; returns its last line."""
    process.finish()
    check_equal(process.status, status, process.describe())
    return (process.errors() if status else process.output()).splitlines()[-1]


class FakeEvb:
    """Telemetry of a receiving evb, with the given values. Context manager."""

    def __init__(self, name):
        self._path = os.path.join(evbtest.runtime_directory(), f"evb-{name}", "dpdk_telemetry.v2")
        self._listener = None
        self._clients = []
        self.responses = {
            "/evb/info": {"state": "running"},
            "/evb/summary": {"events_opened": 110, "events_ends_of_run": 1, "events_complete": 90,
                             "events_incomplete": 8, "events_discarded": 1,
                             "packets_received_bytes": 5 << 40, "segments_received": 77},
            # Two pages.
            "/evb/builder/all": {"count": 2, "builder_0": {"slots": 64, "slots_free": 64,
                                                           "events_held": 3}},
            "/evb/builder/all,1": {"count": 2, "builder_1": {"slots": 64, "slots_free": 16,
                                                             "events_held": 5}},
            "/evb/link/all": {"count": 1, "link_0": {"used": 32, "depth": 64}},
        }

    def __enter__(self):
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(self._path)
        self._listener.listen()
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        return self

    def __exit__(self, *_):
        os.unlink(self._path)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in self._clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self._clients = []

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                self._clients.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, contextlib.suppress(OSError):
            client.send(b'{"version": "DPDK", "pid": 1, "max_output_len": 16384}')
            while request := client.recv(1024).decode():
                client.send(json.dumps({request.partition(",")[0]:
                                        self.responses.get(request)}).encode())


def test_reservation():
    """Reserve, see, use until it ends; wrong tokens; a balancer that has no more."""
    need_grpc()
    with evbtest.Workspace() as work, FakeEvb(work.name()):
        stand_in = StandIn(work)
        own = f"ejfat://admin@127.0.0.1:{stand_in.port}/"
        uri = ended(start_helper(work, own, "reserve", "run-7", "--for", "1h", "--sender",
                                 "127.0.0.1"))
        reserved, = stand_in.messages("ReserveLoadBalancer")
        check(3500 < reserved["until"] - time.time() < 3700, f"reserved until {reserved}")
        parsed = ejfat_uri.parse(uri)
        check_equal((parsed.lb_id, parsed.target(), parsed.sync[0][1], str(parsed.data[0])),
                    ("36", f"127.0.0.1:{stand_in.port}", stand_in.sync_port, "127.0.0.1"), uri)
        arguments = ["worker", "--address", "127.0.0.1", "--interval", "100ms"]
        worker_of_it = start_helper(work, uri, *arguments)
        stranger = start_helper(work, uri.replace(parsed.token, "wrong"), *arguments)
        again = start_helper(work, own, "reserve", "again")
        line = ended(again, status=1)
        check("RESOURCE_EXHAUSTED" in line and "free a reservation" in line, line)
        line = ended(stranger, status=1)
        check("Register: PERMISSION_DENIED" in line and "token" in line, line)
        stand_in.wait_for("a state", lambda m: m["call"] == "SendState", worker_of_it)
        line = ended(start_helper(work, uri, "status"))
        check(" 127.0.0.1:19522: " in line and "slots, fill 75%, " in line, line)
        check_equal(ended(start_helper(work, uri, "free")), "freed: load balancer 36", "free")
        line = ended(worker_of_it, status=1)
        check("Register: PERMISSION_DENIED" in line and "the reservation has ended" in line, line)
        stand_in.end()


def make_certificate(work, name):
    """A certificate of its own authority for this host name: paths of certificate and key."""
    paths = work.path(f"{name}.pem"), work.path(f"{name}.key")
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "1", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
         "-out", paths[0], "-keyout", paths[1]], capture_output=True, text=True, check=False)
    check_equal(made.returncode, 0, made.stderr)
    return paths


def test_tls():
    need_grpc()
    with evbtest.Workspace() as work:
        certificate, key = make_certificate(work, "balancer.example")
        other, _ = make_certificate(work, "other.example")
        stand_in = StandIn(work, "--certificate", certificate, "--key", key)
        uri = f"ejfats://admin@127.0.0.1:{stand_in.port}/"
        refused(["reserve", "x", "--ca", "/nowhere"], uri, "--ca: /nowhere: No such file")
        reserve = ["reserve", "x", "--ca"]
        wrong = [start_helper(work, uri, *reserve, other, "--server-name", "balancer.example"),
                 start_helper(work, uri, *reserve, certificate)]
        right = start_helper(work, uri, *reserve, certificate, "--server-name", "balancer.example")
        for process in wrong:
            line = ended(process, status=1)
            check("certificate is not accepted" in line and "--ca" in line, line)
        check(ended(right).startswith("ejfats://"), right.describe())
        check_equal(len(stand_in.messages()), 1, "calls that got through")
        stand_in.end()


def test_gone_and_back():
    """evb ends and comes back; the balancer does, without its sessions."""
    need_grpc()
    with evbtest.Workspace() as work:
        name = work.name()
        stand_in = StandIn(work, "--reserved", "7:key")
        uri = f"ejfat://key@127.0.0.1:{stand_in.port}/lb/7"
        with FakeEvb(name):
            process = start_helper(work, uri, "worker", "--address", "127.0.0.1", "--interval",
                                   "100ms", "--name", name, "--udp-ports", "8", "--as", "a-1.b")
            state = stand_in.wait_for("a state", lambda m: m["call"] == "SendState", process)
            check_equal({key: state[key] for key in (
                "ready", "fill", "signal", "seen", "complete", "failed", "delivered", "bytes",
                "packets")}, {"ready": 1, "fill": 0.75, "signal": 0.0, "seen": 109, "complete": 90,
                              "failed": 9, "delivered": 90, "bytes": 5 << 40, "packets": 77},
                "the state")
            registered, = stand_in.messages("Register")
            check_equal((registered["port"], registered["port_range"], registered["name"]),
                        (19522, 3, "a-1.b"), "registration")
        stand_in.wait_for("not ready", lambda m: m.get("ready") == 0, process)
        with FakeEvb(name):
            away = len(stand_in.messages())
            process.wait_until(lambda: any(m.get("ready") for m in stand_in.messages()[away:]),
                               "ready again")
            stand_in.check_right()
            stand_in.process.kill()
            process.wait_until(lambda: "UNAVAILABLE" in process.errors(), "it is noticed")
            stand_in = StandIn(work, "--reserved", "7:key", "--port", str(stand_in.port))
            stand_in.wait_for("a state again", lambda m: m["call"] == "SendState"
                              and m["status"] == "OK", process)
            check("registering again" in process.errors(), process.errors())
            check_equal(process.stop(), 0, process.describe())
        calls = [m["call"] for m in stand_in.messages() if m["call"] != "epoch"]
        check_equal(calls[-1], "Deregister", "last call")
        stand_in.end()


# --- the whole chain ---------------------------------------------------------------------------

EVENTS, RATE = 900, 500  # of 8 packets
SOURCES = [1, 2, 3, 4]
DEVICES = {"balancer": ("veth-lb", 1500), "w1": ("veth-w1", 1500), "w2": ("veth-w2", 1500),
           "board": ("veth-board", 1500)}
ADDRESSES = {"balancer": "10.0.0.1", "w1": "10.0.0.11", "w2": "10.0.0.12", "board": "10.0.0.2"}


def node(work, name, **more):
    """Configuration of a process with a port of its own."""
    return {"name": work.name(), "sources": {"ids": SOURCES, "packing": 10},
            "ports": [{"name": "wire", "profile": "af_packet", "device": DEVICES[name][0],
                       "address": f"{ADDRESSES[name]}/24", "options": {"framecnt": 4096}}],
            "idle": {"policy": "adaptive", "yields": 2, "sleep": "300us"}, **more}


def check_states(states):
    """Fill and clock are the stand-in's to check; here: how often."""
    gaps = [later["at"] - earlier["at"] for earlier, later in zip(states, states[1:])]
    check(len(gaps) >= 10 and 0.05 < statistics.median(gaps) < 0.3 and max(gaps) < 2.0,
          f"states came after {gaps} s")
    check_equal(states[0]["signal"], 0, "first control signal")
    check(0 < states[-1]["signal"] <= 50, f"control signal of a worker with room: {states[-1]}")


def check_syncs(syncs):
    check(len(syncs) >= 5, f"{len(syncs)} sync messages")
    rates = [sync["rate"] for sync in syncs[1:] if sync["rate"] > 1]
    check(0.6 * RATE < statistics.median(rates) < 1.4 * RATE, f"rates {rates}")
    # First event 1000, packing 10; the stand-in and telemetry are late by less than a second.
    away = [abs(sync["tick"] - (sync["data_tick"] or 100)) for sync in syncs]
    check(max(away) < RATE, f"ticks of sync messages and data differ by {away}")


class Balanced:
    """The stand-in with its data plane, workers behind it, which get these keys, and the helpers of
    all. weights: {worker: its weight}"""

    def __init__(self, work, weights, **keys):
        self.work = work
        self.bridge = work.enter(network.Bridge(DEVICES))
        here = self.bridge.nodes["balancer"]
        here.add_address(f"{ADDRESSES['balancer']}/24")
        here.set_checksum_offload(False)
        self.stand_in = StandIn(work, "--address", ADDRESSES["balancer"], "--reserved", "7:key",
                                "--data", namespace=here)
        self.helpers, self.workers = [], {}
        for name in weights:
            self.workers[name] = work.run(
                node(work, name, transport={"udp_port": 20000, "udp_ports": 4},
                     builders=[{"name": "b0", "slots": 256, "slot_size": "32kB"}],
                     events={"deadline": "30s", "on_end_of_run": "ignore"}, **keys),
                namespace=self.bridge.nodes[name])
        for name, weight in weights.items():
            self._help("worker", name, "--udp-port", "20000", "--udp-ports", "4", "--as", name,
                       "--name", self.workers[name].name, "--interval", "100ms",
                       "--weight", str(weight))
        self.stand_in.wait_for("an epoch of all",
                               lambda m: sorted(m.get("workers", ())) == sorted(weights))

    def _help(self, kind, name, *arguments):
        uri = f"ejfat://key@10.0.0.1:{self.stand_in.port}/lb/7?sync=10.0.0.1:{self.stand_in.sync_port}"
        self.helpers.append(start_helper(self.work, uri, kind, "--address", ADDRESSES[name],
                                         *arguments, namespace=self.bridge.nodes["balancer"]))

    def start_sender(self, generator, **keys):
        """The process that sends to the balancer."""
        board = node(self.work, "board", generators=[merged({
            "port": "wire", "load_balancer_header": True,
            "destination": {"address": ADDRESSES["balancer"]}}, generator)], **keys)
        self._help("sender", "board", "--name", board["name"], "--interval", "200ms")
        self.stand_in.wait_for("the sender is known", lambda m: m["call"] == "AddSenders",
                               self.helpers[-1])
        return self.work.run(board, namespace=self.bridge.nodes["board"])

    def wait_for_events(self, count):
        def built():
            return sum(telemetry.summary(process.name)["events_complete"]
                       for process in self.workers.values())
        self.stand_in.process.wait_until(lambda: built() >= count, f"{count} events are built")

    def end(self):
        """What the stand-in forwarded, and the accounts of the workers."""
        for process in reversed(self.helpers):
            check_equal(process.stop(), 0, process.describe())
        accounts = {name: process.drain() for name, process in self.workers.items()}
        return self.stand_in.end(), accounts


def test_behind_a_balancer():
    """Events of a generator go through the balancer to two workers: each is built whole, on one. A
    worker that gets no CPU says that it is full, and gets fewer whatever its weight: they go first."""
    need_grpc()
    with bottleneck.ahead_of_others(), evbtest.Workspace() as work:
        system = Balanced(work, {"w1": 1, "w2": 3})
        stand_in = system.stand_in
        sent = system.start_sender({"name": "boards", "events": EVENTS, "rate": RATE,
                                    "first_event": 1000, "size": {"mean": 200}})
        system.wait_for_events(EVENTS)
        check_equal(sent.end()["sent"]["events"], EVENTS, "events sent")
        totals, accounts = system.end()
        judge_chain(totals, accounts)
        for session in ("1", "2"):
            check_states([m for m in stand_in.messages("SendState") if m["session"] == session])
        check_syncs(stand_in.messages("sync"))
        calls = [m["call"] for m in stand_in.messages() if m["call"] not in (
            "SendState", "sync", "epoch")]
        check_equal(sorted(calls[:2]) + calls[2:], ["Register", "Register", "AddSenders",
                                                    "RemoveSenders", "Deregister", "Deregister"],
                    "calls in order")


def test_built_events_behind_a_balancer():
    """The events of a first stage go through the balancer to a worker, byte by byte."""
    need_grpc()
    with evbtest.Workspace() as work:
        sources = {"ids": [1], "payload": "opaque", "packing": 1}
        system = Balanced(work, {"w1": 1}, sources=sources, writers=[
            {"name": "files", "format": "mep", "directory": work.folder("events-w1")}])
        first = test_stages.first_stage(work, test_stages.FEWER)
        sent = system.start_sender(test_stages.egress_of(first), sources=sources,
                                   memory={"kind": "shm"})
        work.run(first).end()
        system.wait_for_events(test_stages.FEWER)
        check_equal(sent.end()["sent"]["events"], test_stages.FEWER, "events sent")
        _, accounts = system.end()
        check_equal(evbtest.drops(accounts["w1"]), {}, "drops")
        check_equal(test_stages.check_forwarded(work, ("w1",), 2),
                    ({"w1": test_stages.FEWER}, 0), "events, and how many are there twice")


def judge_chain(totals, accounts):
    """What the stand-in forwarded and what the workers built."""
    complete = {name: account["events"]["complete"] for name, account in accounts.items()}
    counts = totals["totals"]
    check_equal((sum(complete.values()), [a["events"]["incomplete"] for a in accounts.values()]),
                (EVENTS, [0, 0]), "complete and incomplete events")
    check_equal(counts.get("split", 0), 0, f"events sent to two workers: {totals}")
    check_equal((counts["packets"], counts["forwarded"]), (EVENTS * 8 + 4, EVENTS * 8 + 4),
                f"packets: {totals}")
    check(counts["epochs"] >= 4, f"epochs: {totals}")
    check(complete["w2"] > 1.3 * complete["w1"] > 0, f"shares by weight 1 and 3: {complete}")
    for account in accounts.values():
        check_equal(evbtest.drops(account), {}, "drops")


if __name__ == "__main__":
    evbtest.main()
