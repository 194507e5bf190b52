#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The Python module: test_reader.py RING_FEEDER

Its views are compared with evb_decode.py, which shares no code with evb, with numpy and without.
"""

import ctypes
import gc
import importlib.util
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../functional"), os.path.join(HERE, "../../../lib/evring")]

import evb_decode
import evb_reader
import make_meps

N_RANDOM = 100
N_EVENTS = 300


def module(with_numpy):
    """The module as it is loaded with numpy, or on a machine without."""
    installed = sys.modules.pop("numpy", None)
    sys.modules["numpy"] = installed if with_numpy else None
    try:
        return importlib.reload(evb_reader)
    finally:
        sys.modules["numpy"] = installed


def make_mfp(dice, event_id, source_id, n):
    align = dice.randrange(5)
    missing = dice.randrange(6) == 0
    payloads = [b"" if missing else dice.randbytes(dice.randrange(1, 200)) for _ in range(n)]
    kinds = bytes(92 if missing else 4 for _ in payloads)
    body = b"".join(p + bytes(evb_decode.pad(len(p), 1 << align)) for p in payloads)
    sizes = b"".join(struct.pack("<H", len(p)) for p in payloads)
    tables = kinds + bytes(-n % 4) + sizes + bytes(-2 * n % 4)
    return struct.pack("<HHIQHBB", 0x40CE, n, 20 + len(tables) + len(body), event_id, source_id,
                       align, 3) + tables + body


def make_mep(dice, event_id):
    n_events = dice.randrange(1, 12)
    ids = sorted(dice.sample(range(65536), dice.randrange(1, 9)))
    return make_meps.make_mep([make_mfp(dice, event_id, one, n_events) for one in ids])


def compare(found, data):
    expected = next(evb_decode.meps(data))
    assert (len(found), found.event_id) == (len(expected.mfps), expected.event_id)
    assert found.n_events == expected.n_events
    for source, mfp in zip(found, expected.mfps):
        assert (source.id, source.version, source.missing) == \
            (mfp.source_id, mfp.version, mfp.missing)
        assert found.find(mfp.source_id).id == mfp.source_id
        assert bytes(source.types) == mfp.types and list(source.sizes) == list(mfp.sizes)
        fragments = list(source)
        for fragment, other in zip(fragments, mfp.fragments(), strict=True):
            assert (fragment.event_id, fragment.type) == (other.event_id, other.type)
            assert bytes(fragment.data) == other.payload
        assert source[-1].event_id == fragments[-1].event_id


def test_meps(reader):
    dice = random.Random(12)
    for event_id in range(N_RANDOM):
        data = make_mep(dice, event_id)
        compare(reader.Mep(data), data)


def expect(kind, function, *arguments):
    try:
        function(*arguments)
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


def test_errors(reader):
    data = make_mep(random.Random(1), 5)
    mep = reader.Mep(data)
    expect(ValueError, reader.Mep, data[:-4])
    expect(KeyError, mep.find, (mep[0].id + 1) % 65536)
    expect(IndexError, mep.__getitem__, len(mep))
    expect(IndexError, mep.odin, mep.n_events)
    expect(TypeError, mep[0].payload.__setitem__ if isinstance(mep[0].payload, memoryview)
           else mep[0].payload.data.__setitem__, 0, 1)
    # A size beyond the MFP, which is found before the fragment is read.
    start = struct.unpack_from("<I", data, 8 + 2 * (len(mep) + len(mep) % 2))[0] * 4
    broken = bytearray(data)
    struct.pack_into("<H", broken, start + 20 + mep.n_events + -mep.n_events % 4, 65535)
    expect(ValueError, list, reader.Mep(bytes(broken))[0])


def test_results(reader):
    records = [(10 * n, 1 << n, n + 5, 100, 3, 1, n % 4) for n in range(7)]
    data = struct.pack("<8sIIIIQ", b"EVBDECID", 1, 32, 77, 10, 40)
    data += b"".join(struct.pack("<QQIIHBBI", *record, 0) for record in records)
    results = reader.Results(memoryview(data + bytes(31)))
    assert (results.run_number, results.packing, results.first, len(results)) == (77, 10, 40, 7)
    assert list(results) == records and next(iter(results)).tag == 5
    assert len(reader.Results(data[:32])) == 0
    for broken in (data[:31], b"?" + data[1:], data[:8] + b"\x02" + data[9:], data[:12] + data[13:]):
        expect(ValueError, reader.Results, broken)


def test_ring(reader, feeder):
    dice = random.Random(3)
    events = [make_mep(dice, event_id) for event_id in range(N_EVENTS)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "events.mep")
        with open(path, "wb") as file:
            file.write(b"".join(events))
        process = subprocess.Popen([feeder, folder, path, str(N_EVENTS), "recorder"],
                                   stdout=subprocess.PIPE)
        try:
            assert process.stdout.readline() == b"ready\n"
            read_ring(reader, folder, events)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        expect(reader.ReaderError, reader.Reader, "feeder", "filter", False, folder)


def decide(reader, recorder, event):
    """The only event that goes on to the group after the filter."""
    assert event.decision is None and recorder.next(0) is None
    event.decide(True, lines=1 << 63 | 1, tag=7)
    expect(reader.ReaderError, event.decide, True)
    with recorder.next(1) as accepted:
        assert accepted.event_id == event.event_id
        assert accepted.decision == reader.Decision(True, 1 << 63 | 1, 7)
        expect(reader.ReaderError, accepted.decide, False)


def read_ring(reader, folder, events):
    with reader.Reader("feeder", group="filter", directory=folder) as ring, \
            reader.Reader("feeder", group="recorder", directory=folder) as recorder:
        for n, event in enumerate(ring):
            compare(event.mep, events[n])
            assert bytes(event.data) == events[n] and event.intact
            if n == 0:  # a view lies on the slot
                base = ctypes.addressof(ctypes.c_char.from_address(event._event.data))
                source = event.mep[0]
                assert source._view.obj is not None and event.mep._base == base
                view = source.payload
                decide(reader, recorder, event)
            else:
                event.decide(False)
            if n == N_EVENTS // 2:  # an event may be held while others are read
                with ring.next() as other:
                    compare(other.mep, events[n + 1])
                    other.decide(False)
                break
        rest = sum(event.decide(False) is None for event in ring)
        assert rest == N_EVENTS - N_EVENTS // 2 - 2, rest
        assert ring.counters["events"] == N_EVENTS
        assert recorder.counters["events"] == 1
    expect(ValueError, ring.next)
    assert len(bytes(view)) == len(view)  # still mapped
    assert ring._handle is not None
    del view, source, event, other
    gc.collect()
    assert ring._handle is None


def main():
    tried = [False]
    if importlib.util.find_spec("numpy"):
        tried.append(True)
    else:
        print("numpy is not installed; only tested without it")
    for with_numpy in tried:
        reader = module(with_numpy)
        test_meps(reader)
        test_errors(reader)
        test_results(reader)
        test_ring(reader, sys.argv[1])
        print("with numpy" if with_numpy else "without numpy", "ok")


if __name__ == "__main__":
    main()
