# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Configurations of the appliances under test."""


def _slot_size(event_size):
    """Room for events of this size, their header and their alignment, in whole pages."""
    return -(-(event_size * 5 // 4 + 4096) // 4096) * 4096


def merged(base, changes):
    """The base with the changes, object by object."""
    result = dict(base)
    for key, value in changes.items():
        inner = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if inner else value
    return result


def builder(work, port, stream, slots=128, **changes):
    """One port, one builder for a stream of ejfat_sender, and a writer of .mep files to the
    workspace's folder `events`. Nothing is late unless a test makes it so."""
    largest = max(sum(map(len, blocks.values())) for blocks in stream.blocks)
    return merged({
        "name": work.name(),
        "run_number": 4711,
        "ports": [port],
        "sources": {"ids": stream.sources, "packing": stream.packing},
        "builders": [{"name": "b0", "slots": slots,
                      "slot_size": _slot_size(largest + 512 * len(stream.sources))}],
        "events": {"deadline": "30s"},
        "writers": [{"name": "files", "directory": work.folder("events"), "format": "mep"}],
    }, changes)


def generated(work, sources=8, packing=10, count=0, size=100, generator=None, writer="mep",
              **changes):
    """Generator, wire and builder in one process, over a port in memory. count: MFPs a source
    before the end of the run, 0 for no end."""
    ids = list(range(0x1001, 0x1001 + sources))
    mfp_size = 20 + packing * (size + 8) + 8
    source = {"name": "boards", "port": "wire", "events": count,
              "size": {"law": "fixed", "mean": size}}
    configuration = {
        "name": work.name(),
        "ports": [{"name": "wire", "profile": "ring", "mtu": 1500, "address": "10.0.0.1/24"}],
        "sources": {"ids": ids, "packing": packing},
        "builders": [{"name": "b0", "slots": 64, "slot_size": _slot_size(mfp_size * sources)}],
        "events": {"deadline": "30s"},
        "generators": [merged(source, generator or {})],
    }
    if writer:
        configuration["writers"] = [
            {"name": "files", "directory": work.folder("events"), "format": writer}]
    return merged(configuration, changes)

