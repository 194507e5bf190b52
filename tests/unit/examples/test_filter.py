#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The filters of examples/filter: test_filter.py FILTER MAKE_HITS RING_FEEDER

The one in C and the one in Python find the same tracks, which are the true ones, and decide alike.
"""

import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../../..")
sys.path[:0] = [os.path.join(ROOT, *path) for path in (
    ("tests", "functional"), ("tests", "unit", "python"), ("python",))]

import evb
import evb_decode
import make_meps
import need_numpy

EVENTS, PACKING = 300, 3
FILTER, MAKE_HITS, FEEDER = sys.argv[1:4]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}
IN_PYTHON = [sys.executable, os.path.join(ROOT, "examples/filter/filter.py")]


def run(folder, command, meps):
    """Feeds MEPs to a filter. Returns its lines, its account, and {event id: lines} accepted."""
    path = os.path.join(folder, "events.mep")
    with open(path, "wb") as file:
        file.write(b"".join(meps))
    ring = tempfile.mkdtemp(dir=folder)
    feeder = subprocess.Popen([FEEDER, ring, path, str(len(meps)), "after"],
                              stdout=subprocess.PIPE)
    try:
        assert feeder.stdout.readline() == b"ready\n"
        # Its output goes to files: a pipe that nobody reads would stop it.
        with open(ring + ".out", "w") as out, open(ring + ".err", "w") as errors:
            work = subprocess.Popen([*command, "--directory", ring, "--print", "feeder"],
                                    stdout=out, stderr=errors, env=ENVIRONMENT)
        with evb.Reader("feeder", group="after", directory=ring) as reader:
            accepted = {event.event_id: event.decision.lines for event in reader}
        status = work.wait(60)
        with open(ring + ".out") as out, open(ring + ".err") as errors:
            printed, account = out.read(), errors.read()
        assert status == 0, account
        assert feeder.wait(60) == 0
    finally:
        feeder.kill()
        feeder.wait()
        feeder.stdout.close()
    return printed.splitlines(), account, accepted


def read_lines(lines):
    """{event id: (lines, {segment: q/p})} of what a filter printed."""
    found = {}
    for line in lines:
        event_id, selected, n, *tracks = line.split()
        pairs = [track.split(":") for track in tracks]
        assert len(pairs) == int(n)
        found[int(event_id)] = int(selected, 16), {int(s): float(q) for s, q in pairs}
    return found


def read_truth(path):
    with open(path, encoding="ascii") as file:
        rows = [line.split() for line in file]
    return {(int(event), int(segment)): float(q_over_p) for event, segment, q_over_p in rows}


def check_tracks(found, truth):
    """Of the tracks above 5 GeV/c nearly all are found, nearly all within 10 % of their momentum."""
    fast = {key: q for key, q in truth.items() if abs(q) < 1 / 5000}
    ratios = [found[event][1][segment] / q for (event, segment), q in fast.items()
              if segment in found[event][1]]
    near = sum(abs(ratio - 1) < 0.1 for ratio in ratios)
    assert len(fast) > 500, len(fast)
    # All three stations must have a hit: 0.99^3 = 97 %.
    assert len(ratios) > 0.95 * len(fast), (len(ratios), len(fast))
    assert near > 0.94 * len(ratios), (near, len(ratios))


def check_decisions(found, accepted):
    """A built event is accepted by the lines of all events in it."""
    expected = {}
    for event_id, (lines, _) in found.items():
        first = event_id - event_id % PACKING
        expected[first] = expected.get(first, 0) | lines
    assert accepted == {first: lines for first, lines in expected.items() if lines}
    assert 0 < len(accepted) < len(expected)


def compare(found, other):
    assert found.keys() == other.keys()
    for event_id, (lines, tracks) in found.items():
        assert other[event_id][0] == lines and other[event_id][1].keys() == tracks.keys()
        for segment, q_over_p in tracks.items():
            assert abs(other[event_id][1][segment] / q_over_p - 1) < 1e-8


def scramble(mep, dice):
    """The MEP with other numbers, some of which are no numbers, in a few hits and segments."""
    changed = bytearray(mep)
    for mfp in evb_decode.Mep(mep, 0).mfps:
        words = (mfp.size + mfp.offset - mfp.first_fragment) // 4
        heads, at = set(), 0  # the words with version and number of each fragment
        for size in mfp.sizes:
            heads.add(at)
            at += size // 4
        for word in set(dice.sample(range(words), words // 10)) - heads:
            number = dice.choice([float("nan"), float("inf"), dice.uniform(-1e4, 1e4), 0.0, 3e38])
            struct.pack_into("<f", changed, mfp.first_fragment + 4 * word, number)
    return bytes(changed)


def damaged(mep):
    """The MEP with an error MFP in the place of its last source."""
    blocks = [mep[mfp.offset:mfp.offset + mfp.size]
              for mfp in evb_decode.Mep(mep, 0).mfps]
    n = PACKING
    blocks[-1] = blocks[-1][:4] + (20 + n + -n % 4 + 2 * n + -2 * n % 4).to_bytes(4, "little") + \
        blocks[-1][8:20] + bytes([92] * n) + bytes(-n % 4 + 2 * n + -2 * n % 4)
    return make_meps.make_mep(blocks)


def check_damaged(folder, command, mep):
    broken = bytearray(mep)
    payload = evb_decode.Mep(mep, 0).mfps[0].first_fragment
    broken[payload] = 9  # a version that does not exist
    printed, _, accepted = run(folder, command, [damaged(mep), bytes(broken)])
    assert printed == [] and set(accepted.values()) == {1 << 2}, (printed, accepted)


def main():
    need_numpy.or_skip()
    with tempfile.TemporaryDirectory() as folder:
        hits, truth = (os.path.join(folder, name) for name in ("hits.mfp", "truth"))
        subprocess.run([MAKE_HITS, hits, "--events", str(EVENTS), "--packing", str(PACKING),
                        "--truth", truth], check=True, stdout=subprocess.DEVNULL)
        meps = make_meps.meps_of(hits)
        printed, account, accepted = run(folder, [FILTER], meps)
        found = read_lines(printed)
        assert sorted(found) == list(range(EVENTS)), account
        check_tracks(found, read_truth(truth))
        check_decisions(found, accepted)
        check_damaged(folder, [FILTER], meps[0])
        printed, account, same = run(folder, IN_PYTHON, meps)
        compare(found, read_lines(printed))
        assert same == accepted, account
        check_damaged(folder, IN_PYTHON, meps[0])
        dice = random.Random(4)
        meps = [scramble(mep, dice) for mep in meps]
        (printed, _, accepted), (same, _, also) = (run(folder, command, meps)
                                                   for command in ([FILTER], IN_PYTHON))
        compare(read_lines(printed), read_lines(same))
        assert accepted == also


if __name__ == "__main__":
    main()
