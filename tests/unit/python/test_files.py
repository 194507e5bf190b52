#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""evb.open_file and the package as a whole: test_files.py EVB

What is read equals what evb_decode.py reads, which shares no code with it. The package has the
version of the program.
"""

import gc
import os
import random
import re
import subprocess
import sys
import tempfile
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../../..")
sys.path[:0] = [os.path.join(ROOT, "tests/functional"), os.path.join(ROOT, "python"), HERE]

import evb
import evb_decode
import need_numpy
from test_reader import compare, expect, make_mep, make_mfp


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def test_mep(folder):
    dice = random.Random(1)
    meps = [make_mep(dice, event_id) for event_id in range(50)]
    path = write(folder, "some.mep", b"".join(meps))
    with evb.open_file(path) as file:
        assert file.kind == "mep" and bytes(file.data) == b"".join(meps)
        for _ in range(2):  # again from the beginning
            for found, data in zip(file, meps, strict=True):
                compare(found, data)
        payload = found[0].payload
    expected = bytes(payload)
    del file, found
    gc.collect()
    assert bytes(payload) == expected  # still mapped
    short = evb.open_file(write(folder, "short.mep", b"".join(meps)[:-4]))
    iterator = iter(short)
    for _ in range(49):
        next(iterator)
    try:
        next(iterator)
        raise AssertionError("no error")
    except ValueError as error:
        assert f"short.mep: at byte {sum(map(len, meps[:-1]))}: " in str(error), error


def test_mfp(folder):
    dice = random.Random(2)
    mfps = [make_mfp(dice, event_id, dice.randrange(65536), 3) for event_id in range(50)]
    expected = list(evb_decode.mfps(b"".join(mfps)))
    found = list(evb.open_file(write(folder, "some.mfp", b"".join(mfps))))
    for source, mfp in zip(found, expected, strict=True):
        assert (source.id, source.event_id, len(source)) == \
            (mfp.source_id, mfp.event_id, mfp.n_fragments)
        assert [bytes(fragment.data) for fragment in source] == \
            [fragment.payload for fragment in mfp.fragments()]


def test_mdf(folder):
    path = os.environ.get("EVB_SHARED", os.path.join(ROOT, "..", "shared")) + \
        "/data/lhcb-run3-two-events.mdf"
    if not os.path.exists(path):
        print(f"skip: MDF: {path} is not there")
        return
    data = evb_decode.read(path)
    records = list(evb_decode.records(data))
    found = list(evb.open_file(path))
    assert len(found) == len(records) == 2
    for record, other in zip(found, records):
        assert (record.run, record.orbit, record.bunch, record.mask) == \
            (other.run, other.orbit, other.bunch, other.mask)
        assert [(bank.type, bank.version, bank.source_id, bytes(bank.data)) for bank in record] == \
            [tuple(bank) for bank in other.banks()]
    for broken in (data[:-1], data[:48] + b"??" + data[50:]):
        expect(ValueError, lambda: [list(record) for record in
                                    evb.open_file(write(folder, "broken.mdf", broken))])


def test_others(folder):
    assert list(evb.open_file(write(folder, "empty.mep", b""))) == []
    expect(ValueError, evb.open_file, write(folder, "text", b"no events"))
    expect(ValueError, evb.open_file, write(folder, "empty", b""))
    expect(OSError, evb.open_file, os.path.join(folder, "nothing"))
    expect(AttributeError, getattr, evb, "Nothing")


def test_version(binary):
    said = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout
    with open(os.path.join(ROOT, "python", "pyproject.toml"), "rb") as file:
        declared = tomllib.load(file)["project"]["version"]
    assert re.search(rf"\b{re.escape(evb.__version__)}\b", said), said
    assert declared == evb.__version__
    for name in evb.__all__:
        assert getattr(evb, name).__name__ == name


def main():
    need_numpy.or_skip()
    with tempfile.TemporaryDirectory() as folder:
        for test in (test_mep, test_mfp, test_mdf, test_others):
            test(folder)
    # Telemetry and producers work where numpy is not installed.
    subprocess.run([sys.executable, "-c", "import sys; sys.modules['numpy'] = None; import evb; "
                    "evb.Telemetry; evb.Producer; evb.running('/nowhere')"], check=True,
                   env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
    test_version(sys.argv[1])


if __name__ == "__main__":
    main()
