#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""evb.Mep and evb.Reader: test_reader.py RING_FEEDER

Their views are compared with evb_decode.py, which shares no code with evb.
"""

import gc
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../functional"), os.path.join(HERE, "../../../python")]

import evb
import evb_decode
import make_meps
import need_numpy

N_RANDOM = 100
N_EVENTS = 300


def make_mfp(dice, event_id, source_id, n):
    align = dice.randrange(5)
    if dice.randrange(10) == 0:  # an opaque block
        block = dice.randbytes(4 * dice.randrange(1, 100))
        return struct.pack("<HHIQHBB", 0x40CE, 0, 20 + len(block), event_id, source_id, 0, 0) + block
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
    assert bytes(found.data) == data and list(found.ids) == list(expected.source_ids)
    assert found.n_events == max((mfp.n_fragments for mfp in expected.mfps), default=0)
    for source, mfp, row in zip(found, expected.mfps, found.sizes, strict=True):
        assert (source.id, source.version, source.missing) == \
            (mfp.source_id, mfp.version, mfp.missing)
        assert found.find(mfp.source_id).id == mfp.source_id and source.opaque == mfp.opaque
        if mfp.opaque:
            assert bytes(source.payload) == mfp.opaque_payload
            assert len(source) == 0 and list(source) == []
            assert row[0] == len(mfp.opaque_payload) and not row[1:].any()
            continue
        assert row.tolist() == list(mfp.sizes)
        assert bytes(source.types) == mfp.types and list(source.sizes) == list(mfp.sizes)
        fragments = list(source)
        for fragment, other in zip(fragments, mfp.fragments(), strict=True):
            assert (fragment.event_id, fragment.type) == (other.event_id, other.type)
            assert bytes(fragment.data) == other.payload
        assert source[-1].event_id == fragments[-1].event_id


def test_meps():
    dice = random.Random(12)
    for event_id in range(N_RANDOM):
        data = make_mep(dice, event_id)
        compare(evb.Mep(data), data)


def expect(kind, function, *arguments):
    try:
        function(*arguments)
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


def test_errors():
    data = make_mep(random.Random(1), 5)
    mep = evb.Mep(data)
    expect(ValueError, evb.Mep, data[:-4])
    expect(KeyError, mep.find, (mep[0].id + 1) % 65536)
    expect(IndexError, mep.__getitem__, len(mep))
    expect(IndexError, mep.odin, mep.n_events)
    expect(ValueError, mep[0].payload.__setitem__, 0, 1)
    # A size beyond the MFP, which is found before the fragment is read.
    start = struct.unpack_from("<I", data, 8 + 2 * (len(mep) + len(mep) % 2))[0] * 4
    broken = bytearray(data)
    struct.pack_into("<H", broken, start + 20 + mep.n_events + -mep.n_events % 4, 65535)
    expect(ValueError, list, evb.Mep(bytes(broken))[0])


def test_any_bytes():
    """Wrong bytes raise ValueError, and nothing else."""
    dice = random.Random(7)
    refused = 0
    for event_id in range(400):
        broken = bytearray(make_mep(dice, event_id))
        for _ in range(dice.randrange(1, 4)):
            broken[dice.randrange(min(len(broken), 120))] = dice.randrange(256)
        try:
            mep = evb.Mep(broken[:dice.randrange(len(broken) + 1)] if event_id % 4 == 0 else broken)
            for source in mep:
                assert sum(len(fragment.data) for fragment in source) <= len(broken)
                assert source.flags in (0, 1, 3, 4)
            if mep.n_events:
                mep.odin(0)
            assert mep.sizes.shape == (len(mep), max(1, mep.n_events))
        except ValueError:
            refused += 1
    assert 100 < refused < 400, refused


def test_odin():
    odin = evb.Odin(run=5, event_type=2, step=1, gps_us=10**15, tck=9, partition=3, bunch=3563,
                    orbit=77, event_id=2**40)
    packed = struct.pack("<IHHQIIIIQ", *odin._replace(bunch=odin.bunch | 0xF000))
    tables = bytes([16, 16, 0, 0]) + struct.pack("<HHHH", 40, 40, 0, 0)[:4]
    mfp = struct.pack("<HHIQHBB", 0x40CE, 2, 28 + 80, 10, 3, 0, 7) + tables + bytes(40) + packed
    mep = evb.Mep(make_meps.make_mep([mfp]))
    assert mep.odin(1) == odin and mep.odin(0).run == 0
    assert evb.Mep(make_meps.make_mep([mfp[:16] + b"\x01\x10" + mfp[18:]])).odin(1) is None


def test_results():
    records = [(10 * n, 1 << n, n + 5, 100, 3, 1, n % 4) for n in range(7)]
    data = struct.pack("<8sIIIIQ", b"EVBDECID", 1, 32, 77, 10, 40)
    data += b"".join(struct.pack("<QQIIHBBI", *record, 0) for record in records)
    results = evb.Results(memoryview(data + bytes(31)))
    assert (results.run_number, results.packing, results.first, len(results)) == (77, 10, 40, 7)
    assert list(results) == records and next(iter(results)).tag == 5
    assert len(evb.Results(data[:32])) == 0
    for broken in (data[:31], b"?" + data[1:], data[:8] + b"\x02" + data[9:], data[:12] + data[13:]):
        expect(ValueError, evb.Results, broken)


def test_ring(feeder):
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
            read_ring(folder, events)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        expect(evb.ReaderError, evb.Reader, "feeder", "filter", False, folder)


def decide(recorder, event):
    """The only event that goes on to the group after the filter."""
    assert event.decision is None and recorder.next(0) is None
    event.decide(True, lines=1 << 63 | 1, tag=7)
    expect(evb.ReaderError, event.decide, True)
    with recorder.next(1) as accepted:
        assert accepted.event_id == event.event_id
        assert accepted.decision == evb.Decision(True, 1 << 63 | 1, 7)
        expect(evb.ReaderError, accepted.decide, False)


def spy(folder, events):
    """Sees what a group holds, and releases nothing."""
    with evb.Reader("feeder", spy=True, directory=folder) as reader:
        for event in reader:
            compare(event.mep, events[event.event_id])
            assert event.intact
            break
        assert event.released and reader.counters["events"] == 1


def read_ring(folder, events):
    with evb.Reader("feeder", group="filter", directory=folder) as ring, \
            evb.Reader("feeder", group="recorder", directory=folder) as recorder:
        for n, event in enumerate(ring):
            compare(event.mep, events[n])
            assert bytes(event.data) == events[n] and event.intact
            if n == 0:  # a view lies on the slot
                spy(folder, events)
                view = event.mep[0].payload
                away = view.ctypes.data - event._event.data
                assert 0 < away <= event.length - len(view)
                decide(recorder, event)
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
    del view, event, other
    gc.collect()
    assert ring._handle is None


def main():
    need_numpy.or_skip()
    test_meps()
    test_errors()
    test_any_bytes()
    test_odin()
    test_results()
    test_ring(sys.argv[1])


if __name__ == "__main__":
    main()
