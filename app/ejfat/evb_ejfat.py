#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""evb-ejfat: lets evb work behind an EJFAT load balancer, as a worker or as a sender. docs/ejfat.md
describes it."""

import argparse
import ipaddress
import math
import os
import re
import signal
import socket
import sys
import threading
import time

import ejfat_uri
import evb_telemetry
from balancer import Balancer, CallFailed, timestamp
from refusal import Refusal, complain, say
from sender import Sender
from worker import Worker

UNITS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
PORT_COUNTS = [1 << bits for bits in range(15)]


# --- arguments ---------------------------------------------------------------------------------


def duration(least, most):
    """A parser of times between these, in seconds."""
    def parse(text):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-z]*)", text)
        if not match or (match[2] or "s") not in UNITS:
            raise argparse.ArgumentTypeError(f"\"{text}\" is no time such as 500ms, 2s or 1.5h")
        seconds = float(match[1]) * UNITS[match[2] or "s"]
        if not least <= seconds <= most:
            raise argparse.ArgumentTypeError(f"\"{text}\" is not from {least:g} to {most:g} s")
        return seconds
    return parse


def number(least, most, whole=False):
    def parse(text):
        try:
            value = int(text, 0) if whole else float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"\"{text}\" is no number") from None
        if not math.isfinite(value) or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not from {least:g} to {most:g}")
        return value
    return parse


def address(text):
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no IP address") from None


def balancer_name(text):
    """As udplbd accepts names of reservations and workers (src/util.rs)."""
    label = r"[A-Za-z0-9](?:[A-Za-z0-9_:/-]{0,61}[A-Za-z0-9])?"
    if len(text) > 253 or not re.fullmatch(rf"{label}(?:\.{label})*", text):
        raise argparse.ArgumentTypeError(
            f"\"{text}\" is no name of letters, digits and, between them, . - _ : /")
    return text


def own_name():
    return re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()).strip("-.") or "evb"


def add_worker(commands):
    parser = commands.add_parser("worker", help="register a receiving evb and send its state",
                                 description="Registers a running evb, sends its state until "
                                 "SIGTERM or SIGINT, then deregisters it.")
    parser.add_argument("--address", type=address, required=True,
                        help="IP address of evb's port, to which the balancer sends")
    parser.add_argument("--udp-port", type=number(1, 65535, whole=True), default=19522,
                        metavar="PORT", help="evb's transport.udp_port (19522)")
    parser.add_argument("--udp-ports", type=number(1, PORT_COUNTS[-1], whole=True), default=1,
                        metavar="N", help="evb's transport.udp_ports, a power of 2 (1)")
    parser.add_argument("--as", dest="worker_name", type=balancer_name, default=own_name(),
                        metavar="NAME", help="the worker's name at the balancer (host name)")
    parser.add_argument("--weight", type=number(0.001, 1e6), default=1.0,
                        help="share of the events at the beginning (1)")
    parser.add_argument("--min-factor", type=number(0, 512), default=0.5, metavar="FACTOR",
                        help="least share, relative to an even one (0.5)")
    parser.add_argument("--max-factor", type=number(0, 512), default=2.0, metavar="FACTOR",
                        help="largest share; 0: no limit (2)")
    parser.add_argument("--keep-lb-header", action="store_true",
                        help="ask for segments with the balancer's header; evb accepts both")
    parser.add_argument("--interval", type=duration(0.1, 1.0), default=0.5, metavar="TIME",
                        help="between states, 100ms to 1s (500ms)")
    parser.add_argument("--gain", type=number(0, 1000), default=100.0,
                        help="weight lost in each epoch by a worker that is full more than "
                        "--set-point, of a mean weight of 1000; 0: fixed shares (100)")
    parser.add_argument("--set-point", type=number(0, 1), default=0.5, metavar="FILL",
                        help="fill at which the weight stays as it is (0.5)")
    parser.set_defaults(run=run_worker)
    return parser


def add_sender(commands):
    parser = commands.add_parser("sender", help="send sync messages for a sending evb",
                                 description="Sends sync messages about the ticks that the "
                                 "generators of a running evb send, until SIGTERM or SIGINT.")
    parser.add_argument("--address", type=address, action="append", default=[],
                        help="address that evb sends from, to be added to those that may send, "
                        "and removed at the end; repeatable")
    parser.add_argument("--source-id", type=number(0, 2**32 - 1, whole=True), default=0,
                        metavar="N", help="number of this sender in sync messages (0)")
    parser.add_argument("--interval", type=duration(0.1, 10.0), default=1.0, metavar="TIME",
                        help="between sync messages, 100ms to 10s (1s)")
    parser.set_defaults(run=run_sender)
    return parser


def add_reserve(commands):
    parser = commands.add_parser("reserve", help="reserve a load balancer and print its EJFAT_URI")
    parser.add_argument("reservation", type=balancer_name, metavar="NAME",
                        help="name of the reservation")
    parser.add_argument("--for", dest="lifetime", type=duration(0, 366 * 86400), default=0,
                        metavar="TIME", help="after which it ends (as the balancer has it)")
    parser.add_argument("--sender", type=address, action="append", default=[], metavar="ADDRESS",
                        help="that may send; repeatable")
    parser.add_argument("--ip", choices=("4", "6", "both"), default="both",
                        help="IP versions of its addresses (both)")
    parser.set_defaults(run=run_reserve)
    return parser


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="evb-ejfat", description="Lets evb work behind an EJFAT load balancer.",
        epilog="EJFAT_URI in the environment, ejfat[s]://TOKEN@HOST:PORT/lb/ID?sync=...&data=..., "
        "names the balancer.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    with_evb = [add_worker(commands), add_sender(commands)]
    others = [add_reserve(commands)]
    for name, run, text in (("status", run_status, "show the workers of a reservation"),
                            ("free", run_free, "end a reservation")):
        others.append(commands.add_parser(name, help=text))
        others[-1].set_defaults(run=run)
    for command in with_evb:
        command.add_argument("--name", metavar="NAME",
                             help="of the appliance (the only one that runs)")
    for command in with_evb + others:
        command.add_argument("--uri-file", metavar="FILE",
                             help="file that holds the URI, instead of EJFAT_URI")
        command.add_argument("--ca", metavar="FILE", help="certificates of the authority to "
                             "trust (the system's)")
        command.add_argument("--server-name", metavar="NAME",
                             help="name in the balancer's certificate (the URI's host)")
    return parser.parse_args()


def read_uri(options, reserved=True):
    """EjfatUri of the environment or a file. reserved: it must be that of a reservation."""
    if options.uri_file:
        try:
            with open(options.uri_file, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "is no text"
            raise Refusal(f"--uri-file: {options.uri_file}: {why}") from None
    else:
        text = os.environ.get("EJFAT_URI", "")
    if not text.strip():
        raise Refusal("EJFAT_URI: is empty: set it to the URI that `evb-ejfat reserve` or the "
                      "balancer's operator gave you")
    uri = ejfat_uri.parse(text)
    if not uri.token:
        raise Refusal("EJFAT_URI: has no token, as in ejfat://TOKEN@HOST:PORT/")
    if reserved and not uri.lb_id:
        raise Refusal("EJFAT_URI: names no reservation (/lb/ID): take the URI that `evb-ejfat "
                      "reserve` printed")
    return uri


# --- commands ----------------------------------------------------------------------------------


def stop_by_signals():
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    return stop


def run_worker(options):
    if options.udp_ports not in PORT_COUNTS:
        raise Refusal(f"--udp-ports: {options.udp_ports} is no power of 2, and the balancer "
                      "spreads over no other number: change transport.udp_ports")
    if options.udp_port + options.udp_ports > 65536:
        raise Refusal(f"--udp-ports: {options.udp_ports} from {options.udp_port} on end above 65535")
    if 0 < options.max_factor < options.min_factor:
        raise Refusal(f"--max-factor: {options.max_factor:g} is below --min-factor")
    uri, stop = read_uri(options), stop_by_signals()
    Worker(Balancer(uri, options.ca, options.server_name),
           evb_telemetry.Appliance(options.name), options, stop).run()


def run_sender(options):
    uri, stop = read_uri(options), stop_by_signals()
    Sender(Balancer(uri, options.ca, options.server_name),
           evb_telemetry.Appliance(options.name), options, stop).run()


def call(options, uri, method, **fields):
    balancer = Balancer(uri, options.ca, options.server_name)
    if "until" in fields:
        fields["until"] = timestamp(balancer.messages, fields["until"])
    try:
        return balancer.call(method, **fields)
    except CallFailed as failure:
        raise Refusal(str(failure)) from None
    finally:
        balancer.close()


def run_reserve(options):
    uri = read_uri(options, reserved=False)
    if uri.lb_id:
        raise Refusal("EJFAT_URI: is that of a reservation: give the balancer's own, without /lb/ID")
    fields = {"until": time.time() + options.lifetime} if options.lifetime else {}
    reply = call(options, uri, "ReserveLoadBalancer", name=options.reservation,
                 senderAddresses=[str(sender) for sender in options.sender],
                 ipFamily={"both": 0, "4": 1, "6": 2}[options.ip], **fields)
    uri.token, uri.lb_id = reply.token, reply.lbId
    uri.sync = [(ipaddress.ip_address(text), reply.syncUdpPort)
                for text in (reply.syncIpv4Address, reply.syncIpv6Address) if text]
    uri.data = [ipaddress.ip_address(text)
                for text in (reply.dataIpv4Address, reply.dataIpv6Address) if text]
    say(str(uri))


def run_free(options):
    uri = read_uri(options)
    call(options, uri, "FreeLoadBalancer", lbId=uri.lb_id)
    say(f"freed: load balancer {uri.lb_id}")


def run_status(options):
    uri = read_uri(options)
    reply = call(options, uri, "LoadBalancerStatus", lbId=uri.lb_id)
    now = reply.timestamp.seconds or time.time()
    line = f"load balancer {uri.lb_id}: epoch {reply.currentEpoch}, tick " \
           f"{reply.currentPredictedEventNumber}"
    if reply.HasField("expiresAt"):
        line += f", ends in {max(0, reply.expiresAt.seconds - now):.0f} s"
    say(f"{line}, senders: {' '.join(reply.senderAddresses) or 'none'}")
    for worker in reply.workers:
        where = ejfat_uri.host_and_port(worker.ipAddress, worker.udpPort)
        age = max(0, now - worker.lastUpdated.seconds)
        say(f"{worker.name} {where}: {worker.slotsAssigned} of 512 slots, fill "
            f"{worker.fillPercent:.0%}, control signal {worker.controlSignal:+.0f}, "
            + (f"last state {age:.0f} s ago" if worker.lastUpdated.seconds else "no state yet"))


def main():
    options = parse_arguments()
    try:
        options.run(options)
    except Refusal as refusal:
        complain(str(refusal))
        return 1
    except BrokenPipeError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
