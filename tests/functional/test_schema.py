#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The JSON Schema and the parser agree on what a valid configuration is.

Usage: test_schema.py SCHEMA CONFIG_DUMP

Valid configurations are mutated, one place at a time: keys taken out and added, lists emptied and
lengthened, each value replaced by each of a table of values. The schema, by an independent
validator, and the parser then judge each mutant. They must agree, save for what a schema cannot
express: the messages of CROSS_CHECKS, for which the parser may refuse what the schema accepts. The
other way round there is no exception.
"""
import copy
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import evbtest

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

SEED = 20260
MUTANTS = 5000  # taken from all that there are
MUTANTS_SANITIZED = 2000  # where the parser runs several times slower

CROSS_CHECKS = [
    # quantities written as strings: the schema knows their form, not their size
    r'"[^"]*" is out of range ',
    r'"[^"]*" is too large$',
    r'"[^"]*" has too many digits$',
    r'"[^"]*" is not a whole number of (nanoseconds|bytes|bits per second)$',
    r"\d+ is not a power of two$",
    # source ids
    r"source id \d+ \(0x[0-9a-f]+\) is given twice$",
    r"source id \d+ \(0x[0-9a-f]+\) is not in sources\.ids$",
    r'range "[^"]*" ends before it begins$',
    r'"[^"]*" is not a range of source ids$',
    r"\d+ source ids, at most 4096 are possible$",
    r"sources\.ids\.source_map: [^:]*: ",
    # between keys
    r"builders: neither builders nor generators: there is nothing to do$",
    r'name: "[^"]*" is the name of \w+\[\d+\] already$',
    r'port: no port is called "[^"]*"$',
    r"name: required where there are several$",
    r"gateway: (nodes of a system are in one network|is not in the network of the port's address)$",
    r"port: required where there are several ports$",
    r"file: kind (synthetic|producer|event_ring|port) reads no file$",
    r"event_ring\.appliance: kind event_ring needs the name of the appliance that builds the events$",
    r"event_manager\.mode: static has no indices for nodes that share a source: use push or pull$",
    r"ids: kind event_ring sends for one source$",
    r"event_ring\.number_by: arrival is for a single source in sources\.ids: use event_id$",
    r"kind: event_ring sends built events, which are no MFPs: sources\.payload must be opaque$",
    r"producer\.size: must be at least twice max_block$",
    r"kind: kind port needs a node of a system$",
    r"listen\.size: must be at least \d+ times max_block( for \d+ RoCE boards)?$",
    r"listen\.port: RoCE boards need a port on which nobody sends$",
    r"listen\.udp_ports: \d+ ports from \d+ on end above 65535$",
    r"listen\.udp_port: \d+ is event_manager\.control_port$",
    r"listen\.ether_type: 0x[0-9A-F]{4} belongs to another protocol$",
    r'listen\.port: no port is called "[^"]*"$',
    r"listen\.port: (the boards of generator|the builders of the node|generator) .* port \S+",
    r"kind: over RoCE, a producer needs a node of a system$",
    r"file: is needed with this kind$",
    r"size\.mean: \d+ is above maximum, which is \d+$",
    r"faults\.(silent|late)_source: \d+ is no source of this generator$",
    r"faults\.late_delay: is needed with late_source$",
    r"name: without builders there is nothing to write$",
    r"source_map: is of use with format mdf only$",
    r'format: mdf has no form for sources\.payload "opaque"; mep has$',
    r"group: .* is one group too many, at most 8 are possible$",
    r"address: is not the address of a host$",
    r"mac: is a multicast address, no port's own$",
    r"transport\.udp_ports: \d+ ports from \d+ on end above 65535$",
    r"sources\.from\[\d+\]\.addresses: transport\.kind .* has senders with (IP|Ethernet) addresses$",
    r"sources\.from\[\d+\]\.udp_port: transport\.kind eth has no UDP ports$",
    r"sources\.from\[\d+\]\.udp_ports: \d+ ports from \d+ on end above 65535$",
    r"sources\.from\[\d+\]\.addresses\[\d+\]: .* is not an address such as ",
    r"transport\.ether_type: 0x[0-9A-F]{4} belongs to another protocol$",
    r"lcores\[\d+\]\.cpu: CPU \d+ is that of lcores\[\d+\] already$",
    r'roles\[\d+\]: there is no role "[^"]*"$',
    r'roles\[\d+\]: "[^"]*" is in lcores\[\d+\] already$',
    r'lcores: no lcore has role "[^"]*"$',
    r"flow_control\.low_water: \S+ is not below high_water, which is \S+$",
    r"flow_control\.(high_water: 1 is not below full|low_water: 0 is not above empty): ",
    # RoCE
    r"ports\[\d+\]\.rx_queues: \d+, RoCE is received on one: ",
    r"ports\[\d+\]\.address: RoCE needs one, ",
    r"roce\.path_mtu: the mtu \d+ of ports\[\d+\] has room for \d+ and headers$",
    r"sources\.payload: RoCE messages are MFPs, ",
    r"generators\[\d+\]\.kind: packets of a capture are sent as they are: ",
    r"generators\[\d+\]\.kind: messages of RoCE connections need transport\.kind ",
    r"generators\[\d+\]\.port: generator \S+ sends by RoCE on port \S+ already: ",
    r"roce\.operation: builders read from the readouts of a cluster, ",
    r"roce\.(connection|service): (readouts|an MFP of a readout) of a cluster ",
    r"builders: \d+, where RoCE is received peers find the 16 of a node at most ",
    r"roce\.operation: service ud can only send$",
    r"roce\.queue_pairs: is of use with connection static only$",
    r"local_qpn: 0x[0-9a-f]+ and that of queue_pairs\[\d+\] are the same in a table of ",
    # of the simulated network
    r"fabric\.pfc\.xon: is not below xoff$",
    r"fabric\.paths: dimension-order is for topology torus$",
    r"fabric\.buffer: has no room for a frame( of node |$)",
    r"fabric\.warm_up: is not below duration$",
    r"fabric\.ecn\.low: is not below high$",
    r"fabric\.ecn\.high: nodes react to ECN over RoCE only, which is not simulated$",
    r"fabric\.faults\[\d+\]\.kind: (names a link: |name one of |name either |pauses need |a period needs )",
    r"fabric\.faults\[\d+\]\.kind: (manager-restart names |this kind is for |length is not below )",
    r"fabric\.faults\[\d+\]\.kind: the manager's node has builders or generators",
    r"fabric\.faults\[\d+\]\.node: there is no node ",
    r"fabric\.traffic\.load: 0 would let nothing be sent$",
    r"fabric\.traffic\.kind: daqpipe repeats nothing that is lost: ",
    # between nodes
    r"nodes: none of them is the manager$",
    r"nodes: \d+ of them are managers, at most 3 can be$",
    r"nodes: with several managers at least 3 nodes are needed: ",
    r"event_manager\.heartbeat_timeout: is less than 4 heartbeats, ",
    r'nodes\[\d+\]\.name: "[^"]*", behind the name of the system, has \d+ characters, ',
    r"nodes\[\d+\]\.ports: required, but missing$",
    r"nodes\[\d+\]\.port: needs one port in `ports` of the file, there are \d+$",
    r"nodes\[\d+\]\.port: the node has ports of its own: state it there$",
    r"slot_size: auto is \S+ GiB for \d+ sources, packing \d+ and fragment_size \d+: at most 4 GiB are possible$",
    r"nodes\[\d+\]: neither builders nor generators, and not the manager: ",
    r"ports: none has an address, and a node of a system needs one$",
    r"address: is that of node \S+ already$",
    r"ids: source id \d+ \(0x[0-9a-f]+\) is sent by node \S+ already$",
    r"nodes: no generator of theirs stands for source id \d+ \(0x[0-9a-f]+\)$",
    r"nodes: none of them has a builder$",
    r"first_event: must be 0 where events are granted: ids begin with 0$",
    r"mtu: \d+, control messages of a system need at least 1256$",
    r"transport\.kind: behind an EtherType nothing tells the \d+ builders of a node apart: ",
    r"builders: more than 1024 builders in the whole system$",
    # of the event manager
    r"event_manager: distance is \d+ with \d+ congestion groups; ",
    r"event_manager: strict is for the policy round-robin in the modes push and pull$",
    r"event_manager: barrier needs rounds; expected the shaping linear-shift or random$",
    r"event_manager: phase_barrier needs phases of rounds; expected the mode push and the "
    r"shaping linear-shift or random$",
    r"event_manager\.phase_barrier: nodes that share a source have no phases in common: use 0$",
    r"event_manager\.target_utilisation: 0 would let nothing be sent$",
    r"event_manager\.heartbeat_timeout: is less than two heartbeats$",
    r"event_manager\.control_port: \d+ is the UDP port of the data$",
    r"event_manager\.control_priority: \d is that of the data, which may be paused$",
    r"flow_control\.priority: \d is that of control messages, which must not be paused$",
    r"flow_control\.priority: \d is not event_manager\.data_priority, which is \d: pauses of "
    r"the data would be neither obeyed nor reported$",
]

SMALL = {
    "ports": [{"name": "wire", "profile": "ring"}],
    "sources": {"ids": [1]},
    "builders": [{"name": "b0"}],
}

FULL = {
    "$schema": "schema.json",
    "name": "full",
    "run_number": 7,
    "memory": {"kind": "shm", "limit": "8MB"},
    "ports": [
        {
            "name": "in",
            "profile": "af_packet",
            "device": "eth1",
            "options": {"framesz": 2048, "qdisc_bypass": "1"},
            "mtu": 9000,
            "address": "10.0.0.1/24",
            "mac": "02:00:00:00:00:01",
            "vlan": 4094,
            "rx_queues": 2,
            "rx_descriptors": 1024,
            "tx_descriptors": "512",
            "link_timeout": "5s",
            "verify_checksums": False,
            "destinations": "any",
            "link_rate": "25Gb/s",
            "flow_control": {
                "mode": "soft",
                "priority": 3,
                "high_water": 0.9,
                "low_water": 0.5,
                "pause_time": 1000,
                "cable": 30,
            },
        },
        {"name": "out", "profile": "ring"},
    ],
    "transport": {"kind": "udp", "udp_port": 19522, "udp_ports": 4, "ether_type": "0x88B5"},
    "sources": {
        "ids": [1, "0x2", "3-8", "0x801-0x810"],
        "expected": [1, "4-6"],
        "packing": 100,
        "fragment_size": "200B",
        "payload": "mfp",
        "from": [{"ids": ["1-3"], "addresses": ["10.0.0.0/24", "fd00::/64", "10.0.0.1"],
                  "udp_port": 1000, "udp_ports": 2, "vlan": 5}],
        "moves": "allow",
        "move_after": "1s",
    },
    "builders": [
        {"name": "b0", "slots": 64, "slot_size": "1MiB", "group": 1, "weight": 2},
        {"name": "b1", "slot_size": "auto", "group": "auto"},
    ],
    "events": {
        "deadline": "100ms",
        "on_incomplete": "discard",
        "on_no_slot": "drop",
        "on_end_of_run": "ignore",
        "drain_timeout": 2000000000,
    },
    "event_ring": {"directory": "/dev/shm", "groups": ["filter", "spy"]},
    "generators": [
        {
            "name": "boards",
            "port": "out",
            "kind": "synthetic",
            "ids": ["1-8"],
            "rate": "1.5kHz",
            "speed": 0.5,
            "events": 1000,
            "first_event": "18446744073709551000",
            "size": {"law": "gaussian", "mean": 200, "sigma": 20, "maximum": "240B"},
            "variants": 4,
            "seed": 1,
            "destination": {"address": "10.0.0.1", "mac": "02:00:00:00:00:02"},
            "load_balancer_header": True,
            "faults": {
                "loss": 0.01,
                "duplicate": 0,
                "corrupt": 1e-3,
                "reorder_window": 64,
                "silent_source": 2,
                "late_source": "0x3",
                "late_delay": "3ms",
            },
        },
        {"name": "file", "port": "out", "kind": "mdf", "file": "x.mdf", "rate": 10},
    ],
    "writers": [
        {
            "name": "disk",
            "group": "disk",
            "directory": "/data",
            "prefix": "run",
            "format": "mdf",
            "rotate_size": "4GB",
            "rotate_time": "10min",
            "source_map": "map.json",
        }
    ],
    "lcores": [
        {"cpu": 0, "roles": ["rx.in.0", "rx.in.1", "rx.out", "writer.disk"]},
        {"cpu": 1, "roles": ["builder.b0", "builder.b1", "source.boards", "source.file"]},
    ],
    "idle": {"policy": "poll", "yields": 0, "sleep": "50us"},
    "links": {"depth": 1024, "policy": "drop"},
    "roce": {
        "udp_port": 4791,
        "icrc": "sample",
        "sample_one_in": 64,
        "service": "rc",
        "operation": "write_imm",
        "path_mtu": 4096,
        "connection": "static",
        "cm_service": 19523,
        "max_queue_pairs": 64,
        "ack_every": 16,
        "window": 128,
        "timeout": 14,
        "retry_count": 7,
        "rnr_retry": 7,
        "rnr_timer": 12,
        "cnp_interval": "50us",
        "dcqcn": False,
        "q_key": "0x11111111",
        "partition_key": "0xffff",
        "queue_pairs": [
            {
                "source": 1,
                "type": "uc",
                "local_qpn": 17,
                "local_psn": "0xffffff",
                "remote_qpn": "0x12",
                "remote_psn": 0,
                "address": "10.0.0.9",
                "mac": "02:00:00:00:00:09",
                "rkey": "0x1234",
                "virtual_address": "0x7f0000000000",
                "size": "64MiB",
            },
            {"source": 2, "local_qpn": 18, "remote_qpn": 19, "address": "10.0.0.9"},
        ],
    },
    "fabric": {
        "topology": "torus",
        "hosts": 32,
        "arity": 2,
        "levels": 2,
        "oversubscription": 1.5,
        "columns": 4,
        "rows": 4,
        "planes": 1,
        "host_order": "shuffled",
        "link_rate": "100Gb/s",
        "link_delay": "170ns",
        "paths": "dimension-order",
        "routing": "adaptive",
        "switch_kind": "virtual-output",
        "forwarding": "cut-through",
        "switch_delay": "200ns",
        "host_delay": 1000,
        "flow_control": "pfc",
        "buffer": "64KiB",
        "retry_time": "500ns",
        "burst": "20KB",
        "pfc": {"xoff": "96KiB", "xon": 1000, "headroom": 0},
        "ecn": {"low": "5KB", "high": "200KB", "share": 0.5, "cnp_interval": "4us"},
        "frame": 4096,
        "overhead": "20B",
        "duration": "5ms",
        "warm_up": "1ms",
        "seed": "0xffffffffffffffff",
        "faults": [{"kind": "host-pause", "host": 3, "begin": "1ms", "length": "10us", "period": "1ms"},
                   {"kind": "link", "link": 5, "rate": "10Gb/s"}],
        "traffic": {
            "kind": "daqpipe",
            "message": "1MiB",
            "load": 0.5,
            "senders": 3,
            "send_window": "1ms",
            "idle_window": 0,
            "credits": 16,
            "parallel_sends": 8,
            "mode": "push",
            "shift": "barrier",
        },
    },
}

SYSTEM = {
    "name": "system",
    "sources": {"ids": ["1-8"], "expected": ["1-6"]},
    "transport": {"kind": "udp", "udp_port": 19522},
    "builders": [{"name": "b0", "group": "auto"}],
    "event_manager": {
        "mode": "pull",
        "start": "manual",
        "policy": "weighted",
        "strict": False,
        "distance": 1,
        "relax_after": "100us",
        "shaping": "timed-shift",
        "barrier": False,
        "phase_barrier": 0,
        "parallel_sends": 4,
        "credits": 8,
        "send_window": "1ms",
        "idle_window": "100us",
        "seed": 7,
        "target_utilisation": 0.9,
        "window": "8MiB",
        "queue": 65536,
        "throttle_level": "75%",
        "heartbeat": "20ms",
        "heartbeat_timeout": "200ms",
        "on_source_silent": "pause",
        "source_buffer": 256,
        "control_port": 19521,
        "key_file": "/etc/evb/control.key",
        "control_dscp": 48,
        "control_priority": 6,
        "data_dscp": 26,
        "data_priority": 3,
    },
    "nodes": [
        {
            "name": "a",
            "manager": True,
            "ports": [{"name": "wire", "profile": "ring", "address": "10.0.0.1/24"}],
            "generators": [{"name": "g", "port": "wire", "ids": ["1-3"]}],
        },
        {
            "name": "b",
            "ports": [
                {
                    "name": "wire",
                    "profile": "ring",
                    "address": "10.0.0.2/24",
                    "flow_control": {"mode": "soft"},
                }
            ],
            "builders": [],
            "generators": [{"name": "g", "port": "wire", "ids": ["4-6"]}],
        },
        {
            "name": "c",
            "manager": False,
            "memory": {"kind": "shm"},
            "ports": [{"name": "wire", "profile": "ring", "address": "10.0.0.3/24"}],
            "builders": [{"name": "b0"}, {"name": "b1", "weight": 3}],
            "event_ring": {"groups": ["filter"]},
            "writers": [{"name": "disk"}],
            "lcores": [
                {"cpu": 0, "roles": ["control", "rx.wire", "writer.disk"]},
                {"cpu": 1, "roles": ["builder.b0", "builder.b1"]},
            ],
            "idle": {"policy": "poll"},
            "links": {"depth": 64},
            "roce": {"window": 64},
        },
    ],
}

OWN_PORTS = {
    "ports": [{"profile": "ring", "mtu": "auto", "link_rate": "auto", "address": "10.0.0.1/24"}],
    "sources": {"ids": [1]},
    "nodes": [
        {"name": "a", "manager": True, "generators": [{}]},
        {"name": "b", "builders": [{}], "port": {"address": "10.0.0.2/24", "mtu": 9000,
                                                 "flow_control": {"mode": "soft"}}},
    ],
}

AUTOMATIC = {
    "ports": [{"name": "wire", "profile": "ring", "address": "10.0.0.1"}],
    "sources": {"ids": ["0-4095"]},
    "generators": [{"name": "g", "port": "wire", "kind": "pcap", "file": "x.pcap"}],
    "lcores": "auto",
}

VALUES = [
    None, True, False, -1, -0.5, 0, 0.5, 1, 1.0, 1.5, 2, 3, 63, 64, 65, 100, 1000, 1023, 1024,
    1536, 2048, 4095, 4096, 19999, 20000, 32768, 32769, 65500, 65501, 65535, 65536, 65537, 1000000,
    7, 8, 31, 32, 256, 512, 4097, 100000, 100001, 0xffffff, 0x1000000,
    1000001, 1048576, 1048577, 2**32 - 1, 2**32, 10**10, 3600 * 10**9, 3600 * 10**9 + 1, 2**53 - 1,
    2**53, 2**64, 1e300,
    "", "a", "A-b_9", "a.b", "a b", "a\nb", "a\u0001", "n" * 23, "n" * 24, "n" * 31, "n" * 32,
    "x" * 255, "x" * 256, "auto", "udp", "eth", "mfp", "fixed", "poll", "drop", "mdf", "shm",
    "roce", "static", "uc", "ud", "write", "soft", "off", "none", "25%", "random", "pull",
    "5", "0x5", "0X5f", "0x", "5k", "-5", "+5", "05", "1.5", "1.", ".5", "5 ", " 5", "5  s",
    "99999",
    "18446744073709551615", "18446744073709551616", "0x10000000000000000",
    "5ns", "50us", "1.5ms", "2 s", "1min", "1h", "2h", "5S", "5sec", "1e3s",
    "0.00000000000000000001s", "1.0000000000000000000001s",
    "512B", "4KiB", "1kB", "1KB", "64MiB", "1.5GiB", "1TiB", "9TB", "1PiB", "8mb", "0.1KiB",
    "10Hz", "2.5kHz", "1MHz", "2GHz", "1hz", "25Gb/s", "2.5Gb/s", "100Mb/s", "11Tb/s", "0.1b/s", "25Gbit",
    "10.0.0.1", "10.0.0.1/0", "10.0.0.1/24", "10.0.0.1/32", "10.0.0.1/33", "10.0.0.1/08",
    "10.0.0.1/",
    "10.0.0.256", "010.0.0.1", "10.0.0", "10.0.0.1.1", "0.0.0.0", "239.1.1.1", "::1",
    "02:00:00:00:00:01", "02:AB:cd:00:00:01", "01:00:00:00:00:01", "02:00:00:00:00",
    "02-00-00-00-00-01",
    "02:00:00:00:00:0g", "1-3", "0x1-0x3", "3-1", "1-", "-1", "1-2-3", "1-65535", "1-65536",
    [], [1], [1, 1], [70000], ["1-3"], ["1-3", 2], ["x-y"], ["5000-9096"], ["5000-9095"], ["a"],
    ["000000000000000001-5"],
    ["a", "a"], ["a", "b"], ["a.b"], ["n" * 31], ["n" * 32], [None], [{}], [[]],
    ["1", "2", "3", "4", "5", "6", "7", "8"], ["1", "2", "3", "4", "5", "6", "7", "8", "9"],
    {}, {"a": 1}, {"a": "b"}, {"a": 1.5}, {"a": -1}, {"a": None}, {"a b": 1}, {"n" * 32: 1},
    {"a": "x" * 256}, {"a": 2**53}, {str(i): i for i in range(16)}, {str(i): i for i in range(17)},
    {"source_map": "/nonexistent/map.json"}, {"source_map": ""}, {"source_map": 1},
]


def places(value, path=()):
    """All paths in a configuration, with the value there."""
    yield path, value
    if isinstance(value, dict):
        for key, child in value.items():
            yield from places(child, path + (key,))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from places(child, path + (index,))


def changed(configuration, path, change):
    """A copy in which change(container, key) was done at the path; what is beside the path is shared."""
    mutant = {"": copy.copy(configuration)}
    container, key = mutant, ""
    for step in path:
        container, key = container[key], step
        container[key] = copy.copy(container[key])
    change(container, key)
    return mutant[""]


def put(value):
    def change(container, key):
        container[key] = value
    return change


def remove(container, key):
    del container[key]


def misspell(container, key):
    container[key + "s"] = container.pop(key)


def add_unknown(container, key):
    container[key]["unknown"] = 1


def lengthen(count):
    def change(container, key):
        elements = container[key]
        for index in range(len(elements), count):
            element = copy.deepcopy(elements[0])
            if isinstance(element, dict) and "name" in element:
                element["name"] = f"more{index}"
            elements.append(element)
    return change


def repeat(container, key):
    container[key].append(container[key][0])


def mutations(configuration):
    """All that can be done to a configuration, each as what changed() takes."""
    for path, value in places(configuration):
        for replacement in VALUES:
            if path and (type(replacement), replacement) != (type(value), value):
                yield configuration, path, put(replacement)
        if path:
            yield configuration, path, remove
        if path and isinstance(path[-1], str):
            yield configuration, path, misspell
        if isinstance(value, dict):
            yield configuration, path, add_unknown
        if isinstance(value, list) and value:
            yield configuration, path, repeat
            for count in (16, 17, 64, 65):
                yield configuration, path, lengthen(count)


def quick_validator(schema):
    """Mutants share most objects with the valid configurations: what was found without an error by a
    part of the schema is not judged by that part again."""
    base = jsonschema.Draft202012Validator
    sound = {}  # objects by their identity and that of the part, which last as long as this

    def judge(validator, instance, part, path, schema_path):
        key = id(part), id(instance)
        if key in sound:
            return
        errors = False
        for error in validator.descend(instance, part, path=path, schema_path=schema_path):
            errors = True
            yield error
        if not errors:
            sound[key] = instance

    def properties(validator, parts, instance, _):
        if validator.is_type(instance, "object"):
            for name in parts.keys() & instance.keys():
                yield from judge(validator, instance[name], parts[name], name, name)

    def items(validator, part, instance, schema):
        if "prefixItems" in schema:
            yield from base.VALIDATORS["items"](validator, part, instance, schema)
        elif validator.is_type(instance, "array"):
            for index, item in enumerate(instance):
                yield from judge(validator, item, part, index, None)

    quick = jsonschema.validators.extend(base, {"properties": properties, "items": items})
    return quick(schema)


def parser_errors(config_dump, configurations, folder):
    """The parser's error for each configuration, None where it has none."""
    paths = []
    for index, configuration in enumerate(configurations):
        path = pathlib.Path(folder, f"{index}.json")
        path.write_text(json.dumps(configuration), encoding="utf-8")
        paths.append(str(path))
    errors = {}
    for begin in range(0, len(paths), 1000):
        result = subprocess.run([config_dump, "check"] + paths[begin:begin + 1000],
                                stdout=subprocess.PIPE, text=True, check=False)
        if result.returncode not in (0, 1):
            sys.exit(f"FAILED: {config_dump} exits with {result.returncode}")
        lines = result.stdout.splitlines()
        errors.update(line.split(": ", 1) for line in lines)
        if (result.returncode == 1) != bool(lines):
            sys.exit("FAILED: exit status and output of config_dump differ")
    return [errors.get(path) for path in paths]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    schema = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = quick_validator(schema)

    valid = [SMALL, FULL, AUTOMATIC, SYSTEM, OWN_PORTS]
    everything = [mutation for configuration in valid for mutation in mutations(configuration)]
    n_mutants = MUTANTS_SANITIZED if evbtest.is_sanitized(sys.argv[2]) else MUTANTS
    chosen = valid + [changed(*mutation)
                      for mutation in random.Random(SEED).sample(everything, n_mutants)]
    with tempfile.TemporaryDirectory(prefix="evb-test-schema-") as folder:
        errors = parser_errors(sys.argv[2], chosen, folder)

    cross_checks = [re.compile(check) for check in CROSS_CHECKS]
    counts = {"both accept": 0, "both refuse": 0, "cross checks": 0}
    failures = 0
    used = set()
    for index, (configuration, error) in enumerate(zip(chosen, errors)):
        complaint = next(validator.iter_errors(configuration), None)
        cross_check = next((check for check in cross_checks if error and check.search(error)), None)
        if index < len(valid) and (error or complaint):
            failures += 1
            print(f"valid configuration {index} is refused: {error or complaint.message}")
        elif (error is None) == (complaint is None):
            counts["both accept" if error is None else "both refuse"] += 1
        elif error and cross_check:
            counts["cross checks"] += 1
            used.add(cross_check)
        else:
            failures += 1
            where = complaint.json_path if complaint else "-"
            print(f"parser: {error}; schema: {complaint.message[:100] if complaint else None} "
                  f"at {where}")
    print(f"{len(valid)} valid ones and {n_mutants} of {len(everything)} mutants: "
          + ", ".join(f"{count} {name}" for name, count in counts.items())
          + f" ({len(used)} of {len(CROSS_CHECKS)} kinds seen), {failures} disagreements")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
