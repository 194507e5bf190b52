# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A stand-in for an EJFAT load balancer that trusts nothing: control plane (gRPC), sync messages
(UDP) and data plane. It shares no code with evb-ejfat: messages are decoded by the tables below,
which were written from the published protocol (ESnet udplbd 2.3.1), byte by byte.

Each message becomes a line of JSON on standard output, {"call": METHOD or "sync", "status": ...}.
What contradicts the protocol has a list `wrong`. At SIGTERM it prints one line, {"totals": ...}.

As udplbd, it makes an epoch periodically: it adds the control signals to the weights, scales the
weights to a mean of 1000, deals 512 slots to the workers that are ready, and lets the epoch begin
at the tick that it predicts from the sync messages. A packet goes to the worker of the slot that
the lowest 9 bits of its tick name, without its LB header.
"""

import argparse
import collections
import concurrent.futures
import ipaddress
import json
import math
import os
import random
import re
import secrets
import signal
import socket
import struct
import sys
import threading
import time

os.environ["GRPC_VERBOSITY"] = "NONE"

import grpc  # noqa: E402

SERVICE = "loadbalancer.LoadBalancer"
SLOTS = 512
CLOCK_S = 2.0  # by which a worker's clock may differ: its state is stale then
AHEAD_S = 0.8  # of an epoch's announcement
MARGIN = 64  # ticks that an epoch begins at least behind the newest one of the data
EPOCHS = 16  # known at a time
SILENT_S = 2.0  # after which a worker gets no slots
SO_RCVBUFFORCE = 33
END_OF_RUN = 2**64 - 1

# --- messages: {field number: (name, type)} ------------------------------------------------------

REQUESTS = {
    "ReserveLoadBalancer": {2: ("name", "text"), 4: ("until", "time"), 5: ("senders", "texts"),
                            6: ("family", "number")},
    "FreeLoadBalancer": {2: ("lb", "text")},
    "LoadBalancerStatus": {2: ("lb", "text")},
    "AddSenders": {2: ("lb", "text"), 3: ("senders", "texts")},
    "RemoveSenders": {2: ("lb", "text"), 3: ("senders", "texts")},
    "Register": {2: ("lb", "text"), 3: ("name", "text"), 4: ("weight", "float"),
                 5: ("address", "text"), 6: ("port", "number"), 7: ("port_range", "number"),
                 8: ("min_factor", "float"), 9: ("max_factor", "float"), 10: ("keep", "number")},
    "SendState": {2: ("session", "text"), 3: ("lb", "text"), 4: ("time", "time"),
                  5: ("fill", "float"), 6: ("signal", "float"), 7: ("ready", "number"),
                  8: ("seen", "number"), 9: ("complete", "number"), 10: ("failed", "number"),
                  11: ("delivered", "number"), 12: ("refused", "number"), 13: ("bytes", "number"),
                  14: ("packets", "number")},
    "Deregister": {2: ("lb", "text"), 3: ("session", "text")},
}
WIRE_TYPES = {"number": 0, "text": 2, "texts": 2, "time": 2, "float": 5}
DEFAULTS = {"number": 0, "text": "", "float": 0.0, "time": None}


class Wrong(Exception):
    """What a message must not contain."""


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields_of(data):
    """Yields (field number, wire type, value)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise Wrong(f"wire type {key & 7}")
        yield key >> 3, key & 7, value


def seconds_of(data):
    parts = {number: value for number, _, value in fields_of(data)}
    if not 0 <= parts.get(2, 0) < 10**9:
        raise Wrong(f"{parts.get(2)} nanoseconds")
    return parts.get(1, 0) + parts.get(2, 0) * 1e-9


def decode(method, data):
    table = REQUESTS[method]
    message = {name: [] if kind == "texts" else DEFAULTS[kind] for name, kind in table.values()}
    for number, wire_type, value in fields_of(data):
        if number not in table:
            raise Wrong(f"field {number}, which {method} does not have")
        name, kind = table[number]
        if wire_type != WIRE_TYPES[kind]:
            raise Wrong(f"field {name} has wire type {wire_type}")
        if kind == "texts":
            message[name].append(value.decode())
        else:
            message[name] = {"text": lambda v: v.decode(), "time": seconds_of}.get(
                kind, lambda v: v)(value)
    return message


def encode_varint(value):
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def encode(*fields):
    """Bytes of (field number, value); a list gives several fields."""
    out = b""
    for number, value in fields:
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, float):
                out += encode_varint(number << 3 | 5) + struct.pack("<f", item)
            elif isinstance(item, int):
                out += encode_varint(number << 3) + encode_varint(item)
            else:
                raw = item.encode() if isinstance(item, str) else item
                out += encode_varint(number << 3 | 2) + encode_varint(len(raw)) + raw
    return out


def encode_time(seconds):
    return encode((1, int(seconds)), (2, int(seconds % 1 * 1e9)))


# --- what messages must be -----------------------------------------------------------------------


def is_address(text):
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def is_name(text):
    return len(text) <= 253 and all(
        re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_:/-]{0,61}[A-Za-z0-9])?", label)
        for label in text.split("."))


def faults_of_registration(m):
    yield "name", is_name(m["name"])
    yield "weight", m["weight"] > 0 and math.isfinite(m["weight"])
    yield "address", is_address(m["address"])
    yield "port range", 0 <= m["port_range"] <= 14
    yield "ports", 1 <= m["port"] and m["port"] + (1 << min(m["port_range"], 14)) <= 65536
    yield "factors", 0 <= m["min_factor"] and (
        m["max_factor"] == 0 or m["min_factor"] <= m["max_factor"] <= SLOTS)


def faults_of_state(m, last, now):
    """last: the state before, or None."""
    yield "time", m["time"] is not None and abs(m["time"] - now) < CLOCK_S
    yield "fill", 0 <= m["fill"] <= 1
    yield "signal", math.isfinite(m["signal"]) and abs(m["signal"]) <= 1000
    yield "ready", m["ready"] in (0, 1)
    # Counters are read one after the other.
    yield "sum of events", m["complete"] + m["failed"] <= m["seen"] + 100
    yield "delivered events", m["delivered"] <= m["complete"] + m["failed"] + 100
    if last:
        yield "time goes back", m["time"] is not None and m["time"] > last["time"]
        for counter in ("seen", "complete", "failed", "bytes", "packets"):
            yield f"{counter} goes back", not m["ready"] or m[counter] >= last[counter]


def faults_of_sync(data, last, now):
    """Returns the message and its faults."""
    if len(data) != 28:
        return {}, [f"{len(data)} bytes"]
    magic, version, zero, source, tick, rate, time_ns = struct.unpack("!2sBBIQIQ", data)
    message = {"source": source, "tick": tick, "rate": rate, "time": time_ns * 1e-9}
    checks = [("magic", magic == b"LC"), ("version", version == 2), ("reserved byte", zero == 0),
              ("rate", rate >= 1), ("time", abs(message["time"] - now) < CLOCK_S)]
    if last:
        checks += [("tick goes back", tick >= last["tick"]),
                   ("time goes back", message["time"] > last["time"]),
                   ("source id changes", source == last["source"])]
    return message, [what for what, good in checks if not good]


# --- the balancer --------------------------------------------------------------------------------


class Refused(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Session:
    def __init__(self, registration):
        self.registration = registration
        self.token = secrets.token_hex(8)
        self.weight = registration["weight"]
        self.state = None
        self.state_at = 0.0
        self.ended = False
        self.packets = 0
        self.slots = 0

    def is_ready(self):
        return (not self.ended and self.state is not None and self.state["ready"]
                and time.monotonic() - self.state_at < SILENT_S)


class Reservation:
    def __init__(self, lb_id, token, until, senders):
        self.lb_id = lb_id
        self.token = token
        self.until = until  # Unix time, 0: no end
        self.senders = list(senders)
        self.sessions = {}

    def has_ended(self):
        return self.until and time.time() >= self.until


class Balancer:
    def __init__(self, options):
        self._options = options
        self._lock = threading.Lock()
        self._print_lock = threading.Lock()
        self._reservation = None
        self._random = random.Random(1)
        self._epochs = []  # [(first tick, {slot: session})], the newest last
        self._sync = None
        self._sync_at = 0.0
        self._syncs = 0
        self._data_tick = None  # latest of the data
        self.totals = collections.Counter()
        self._destinations = {}
        if options.reserved:
            lb_id, token = options.reserved.split(":")
            self._reservation = Reservation(lb_id, token, 0, [])

    def log(self, call, status, wrong, **fields):
        line = json.dumps({"call": call, "status": status, "at": time.monotonic(), **fields,
                           **({"wrong": wrong} if wrong else {})})
        with self._print_lock:
            print(line, flush=True)

    # --- control plane

    def serve(self, method, data, context):
        metadata = dict(context.invocation_metadata())
        message, wrong, status = {}, [], "OK"
        try:
            message = decode(method, data)
            token = metadata.get("authorization")
            if token is None:
                raise Refused("UNAUTHENTICATED", "Missing authorization token")
            if not token.startswith("Bearer "):
                raise Refused("INVALID_ARGUMENT", "Invalid token format")
            with self._lock:
                return getattr(self, method)(message, token.removeprefix("Bearer "), wrong)
        except Wrong as fault:
            wrong.append(str(fault))
            status = "INVALID_ARGUMENT"
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(fault))
        except Refused as refused:
            status = refused.code
            context.abort(grpc.StatusCode[refused.code], str(refused))
        finally:
            self.log(method, status, wrong, **message)

    def _check(self, wrong, faults):
        wrong += [what for what, good in faults if not good]
        if wrong:
            raise Refused("INVALID_ARGUMENT", ", ".join(wrong))

    def _reserved(self, message, token):
        """The reservation, whose token it must be."""
        reservation = self._reservation
        if not message["lb"].isdigit():
            raise Refused("INVALID_ARGUMENT", "Invalid load balancer ID")
        if (not reservation or reservation.has_ended() or reservation.lb_id != message["lb"]
                or token not in (reservation.token, self._options.token)):
            raise Refused("PERMISSION_DENIED", "Permission denied")
        return reservation

    def _session(self, message, token):
        reservation = self._reservation
        session = reservation and reservation.sessions.get(message["session"])
        if not session or session.ended or reservation.has_ended() or token != session.token:
            raise Refused("PERMISSION_DENIED", "Permission denied")
        return session

    def ReserveLoadBalancer(self, message, token, wrong):
        if token != self._options.token:
            raise Refused("PERMISSION_DENIED", "No permission to reserve any load balancers")
        if self._reservation and not self._reservation.has_ended():
            raise Refused("RESOURCE_EXHAUSTED", "All load balancers are currently reserved")
        self._check(wrong, [("name", is_name(message["name"])),
                            ("until", message["until"] is None or message["until"] > time.time()),
                            ("senders", all(map(is_address, message["senders"]))),
                            ("family", message["family"] in (0, 1, 2))])
        self._reservation = Reservation("36", secrets.token_hex(8), message["until"] or 0,
                                        message["senders"])
        return encode((1, self._reservation.token), (2, "36"), (3, self._options.address),
                      (4, self._options.sync_port), (5, self._options.address), (7, 1),
                      (9, 16384), (10, 32767), (11, "dynamic"))

    def FreeLoadBalancer(self, message, token, wrong):
        self._reserved(message, token)
        self._reservation = None
        return b""

    def LoadBalancerStatus(self, message, token, wrong):
        reservation = self._reserved(message, token)
        workers = [encode((1, s.registration["name"]), (2, s.state["fill"] if s.state else 0.0),
                          (3, s.state["signal"] if s.state else 0.0), (4, s.slots),
                          (5, encode_time(s.state["time"] if s.state else 0)),
                          (6, s.registration["address"]), (7, s.registration["port"]), (8, 0))
                   for s in reservation.sessions.values() if not s.ended]
        return encode((1, encode_time(time.time())), (2, len(self._epochs)),
                      (3, self._predict(time.monotonic())), (4, workers),
                      (5, reservation.senders), (6, encode_time(time.time() + 60)), (11, SLOTS))

    def AddSenders(self, message, token, wrong):
        reservation = self._reserved(message, token)
        self._check(wrong, [("senders", message["senders"] and all(map(is_address,
                                                                       message["senders"])))])
        reservation.senders += message["senders"]
        return b""

    def RemoveSenders(self, message, token, wrong):
        reservation = self._reserved(message, token)
        self._check(wrong, [("senders", message["senders"]
                             and set(message["senders"]) <= set(reservation.senders))])
        for sender in message["senders"]:
            reservation.senders.remove(sender)
        return b""

    def Register(self, message, token, wrong):
        reservation = self._reserved(message, token)
        self._check(wrong, faults_of_registration(message))
        session_id = str(len(reservation.sessions) + 1)
        reservation.sessions[session_id] = Session(message)
        return encode((1, reservation.sessions[session_id].token), (2, session_id))

    def SendState(self, message, token, wrong):
        session = self._session(message, token)
        self._check(wrong, [("load balancer", message["lb"] == self._reservation.lb_id),
                            *faults_of_state(message, session.state, time.time())])
        session.state, session.state_at = message, time.monotonic()
        return b""

    def Deregister(self, message, token, wrong):
        session = self._session(message, token)
        self._check(wrong, [("load balancer", message["lb"] == self._reservation.lb_id)])
        session.ended = True
        return b""

    # --- sync messages and epochs

    def receive_syncs(self, udp):
        while True:
            data, sender = udp.recvfrom(2048)
            message, wrong = faults_of_sync(data, self._sync, time.time())
            if not wrong:
                self._sync, self._sync_at = message, time.monotonic()
                self._syncs += 1
            self.log("sync", "OK", wrong, sender=sender[0], data_tick=self._data_tick, **message)

    def _predict(self, at):
        if not self._sync:
            return 0
        return self._sync["tick"] + round(self._sync["rate"] * (at - self._sync_at))

    def _deal(self, sessions):
        """Slots of the sessions by their weights, within their factors."""
        total = sum(session.weight for session in sessions)
        even = SLOTS / len(sessions)
        deck = []
        for session in sessions:
            r = session.registration
            most = even * r["max_factor"] if r["max_factor"] else SLOTS
            share = min(max(SLOTS * session.weight / total, even * r["min_factor"]), most)
            deck += [session] * round(share)
        while len(deck) < SLOTS:
            deck.append(sessions[len(deck) % len(sessions)])
        self._random.shuffle(deck)
        return deck[:SLOTS]

    def make_epoch(self):
        with self._lock:
            all_sessions = [s for s in (self._reservation.sessions if self._reservation
                                        else {}).values() if not s.ended]
            sessions = [s for s in all_sessions if s.is_ready()]
            if not sessions or self._syncs == 1:
                return  # the first sync message does not know the rate yet
            for session in all_sessions:
                session.weight += session.state["signal"] if session.state else 0
            mean = sum(s.weight for s in all_sessions) / len(all_sessions)
            for session in all_sessions:
                session.weight *= 1000 / mean
            slots = self._deal(sessions)
            counts = collections.Counter(map(id, slots))
            for session in all_sessions:
                session.slots = counts[id(session)]
            # Where the sender was away, its events have passed what its rate foretold.
            boundary = max(self._predict(time.monotonic() + AHEAD_S),
                           (self._data_tick or 0) + MARGIN)
            self._epochs = (self._epochs + [(boundary, slots)])[-EPOCHS:]
            self.totals["epochs"] += 1
            ready = [s.registration["name"] for s in sessions]
        self.log("epoch", "OK", [], tick=boundary, workers=ready,
                 slots=[s.slots for s in sessions])

    def make_epochs(self):
        while True:
            time.sleep(self._options.epoch)
            self.make_epoch()

    # --- data plane

    def _route(self, packet, sender):
        """(worker's address, bytes), or None with the cause counted."""
        reservation = self._reservation
        if not reservation or sender not in reservation.senders:
            self.totals["of strangers"] += 1
            return None
        if len(packet) < 37 or packet[:2] != b"LB" or packet[2] not in (2, 3) or packet[3] != 1:
            self.totals["malformed"] += 1
            return None
        select, entropy, tick = struct.unpack_from("!HHQ", packet, 4)
        if tick != END_OF_RUN:
            self._data_tick = tick
        epochs = self._epochs
        if not epochs:
            self.totals["without epoch"] += 1
            return None
        slots = next((slots for first, slots in reversed(epochs) if first <= tick), epochs[-1][1])
        session = slots[(select if packet[2] == 3 else tick) % SLOTS]
        if session.ended:
            self.totals["of no worker"] += 1
            return None
        session.packets += 1
        if self._destinations.setdefault(tick, session) is not session:
            self.totals["split"] += 1
        r = session.registration
        port = r["port"] + (entropy & ((1 << r["port_range"]) - 1))
        return (r["address"], port), packet if r["keep"] else packet[16:]

    def forward(self, udp):
        while True:
            packet, sender = udp.recvfrom(65536)
            self.totals["packets"] += 1
            routed = self._route(packet, sender[0])
            if routed:
                udp.sendto(routed[1], routed[0])
                self.totals["forwarded"] += 1

    def summary(self):
        sessions = self._reservation.sessions.values() if self._reservation else ()
        return {"totals": self.totals, "events": len(self._destinations),
                "workers": {s.registration["name"]: s.packets for s in sessions}}


class Methods(grpc.GenericRpcHandler):
    def __init__(self, balancer):
        self._balancer = balancer

    def service(self, handler_call_details):
        service, _, method = handler_call_details.method.strip("/").partition("/")
        if service != SERVICE or method not in REQUESTS:
            return None
        return grpc.unary_unary_rpc_method_handler(
            lambda data, context: self._balancer.serve(method, data, context))


def open_server(balancer, options):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), [Methods(balancer)],
                         options=[("grpc.so_reuseport", 0)])
    where = f"{options.address}:{options.port}"
    if options.certificate:
        with open(options.certificate, "rb") as chain, open(options.key, "rb") as key:
            port = server.add_secure_port(where, grpc.ssl_server_credentials(
                [(key.read(), chain.read())]))
    else:
        port = server.add_insecure_port(where)
    server.start()
    return server, port


def udp_socket(address, port):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    udp.bind((address, port))
    return udp


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="of gRPC; 0: any")
    parser.add_argument("--sync-port", type=int, default=0)
    parser.add_argument("--data-port", type=int, default=19522)
    parser.add_argument("--token", default="admin", help="the balancer's own")
    parser.add_argument("--reserved", metavar="ID:TOKEN", help="a reservation that exists")
    parser.add_argument("--epoch", type=float, default=0.3, help="seconds")
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("--data", action="store_true", help="forward packets")
    options = parser.parse_args()
    syncs = udp_socket(options.address, options.sync_port)
    options.sync_port = syncs.getsockname()[1]
    balancer = Balancer(options)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    jobs = [(balancer.receive_syncs, (syncs,)), (balancer.make_epochs, ())]
    if options.data:
        jobs.append((balancer.forward, (udp_socket(options.address, options.data_port),)))
    for job, arguments in jobs:
        threading.Thread(target=job, args=arguments, daemon=True).start()
    server, port = open_server(balancer, options)
    print(json.dumps({"serving": port, "sync": options.sync_port}), flush=True)
    stop.wait()
    server.stop(0).wait()
    print(json.dumps(balancer.summary()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
