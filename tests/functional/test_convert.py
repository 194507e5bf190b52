# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb convert`: h5py reads the same events and fragments from the HDF5 file as evb_decode.py from the
.mep or .mdf file, also of real LHCb events, and the way back yields the same bytes. What is no such
file is refused with one line; what is interrupted leaves no file."""

import importlib.util
import os
import pty
import re
import signal
import subprocess
import time

import evb_decode
import evbtest
import hosts
import make_meps
from evbtest import check, check_equal

NO_ID = 2**64 - 1
LARGE = 64 << 20  # bytes: takes seconds with the highest level of compression
PROGRESS = rb"\r[^\r]* +(\d+) s  (\d+) %, (\d+) s left  [^\r]*B/s"


def open_hdf5(path):
    if not importlib.util.find_spec("h5py"):
        evbtest.skip("python3-h5py is not installed")
    import h5py
    return h5py.File(path)


def need_hdf5(work):
    """Skips where evb is built without."""
    path = work.write("probe.mdf", "")
    done = work.evb("convert", path, work.path("probe.h5"))
    if "built without HDF5" in done.errors():
        evbtest.skip(done.errors().strip())


def read(path):
    with open(path, "rb") as file:
        return file.read()


def mep_file(work, *options, name="events-run000012-0003.mep"):
    """A file of the MEPs that the MFPs of `evb gen` make."""
    mfps = work.path(name + ".mfp")
    done = work.evb("gen", "--out", mfps, "--quiet", *options)
    check_equal(done.status, 0, f"status of {done.describe()}")
    path = work.path(name)
    with open(path, "wb") as file:
        file.write(b"".join(make_meps.meps_of(mfps)))
    return path


def convert(work, source, target, *options):
    target = work.path(target)
    done = work.evb("convert", *options, source, target)
    check_equal(done.status, 0, f"status of {done.describe()}")
    return target


def columns(group):
    return {name: group[name][:] for name in group}


def check_fragments(file, expected):
    """All rows of `fragments`: (event id, source id, type, version, payload)."""
    data, rows = file["data"][:], columns(file["fragments"])
    check_equal(len(rows["offset"]), len(expected), "fragments")
    for i, (event_id, source_id, kind, version, payload) in enumerate(expected):
        offset = int(rows["offset"][i])
        found = (int(rows["event_id"][i]), int(rows["source_id"][i]), int(rows["type"][i]),
                 int(rows["version"][i]), data[offset:offset + int(rows["length"][i])].tobytes())
        check(found == (event_id, source_id, kind, version, bytes(payload)),
              f"fragment {i}: {found[:4]}, {(event_id, source_id, kind, version)} is expected")


def check_ranges(rows, first, count, total, what):
    """The rows of the next table follow one another without gaps."""
    at = 0
    for begin, n in zip(rows[first], rows[count]):
        check_equal(int(begin), at, f"{first} of {what}")
        at += int(n)
    check_equal(at, total, f"{count} of {what}")


def check_meps(source, path):
    """The HDF5 file at `path` has what evb_decode finds in the .mep file `source`."""
    meps = list(evb_decode.meps(read(source)))
    mfps = [mfp for mep in meps for mfp in mep.mfps]
    with open_hdf5(path) as file:
        events, blocks = columns(file["events"]), columns(file["blocks"])
        check(file["data"][:].tobytes() == read(source), "data is not the file")
        check_equal(list(zip(*(events[name].tolist() for name in (
            "event_id", "offset", "length", "n_blocks", "n_missing", "packing", "flags")))),
            [(mep.event_id, mep.offset, mep.size, len(mep.mfps), len(mep.missing),
              0 if mep.mfps[0].opaque else mep.n_events, 1 if mep.missing else 0)
             for mep in meps], "events")
        check_equal(list(zip(*(blocks[name].tolist() for name in (
            "event_id", "offset", "length", "n_fragments", "source_id", "version", "missing")))),
            [(mfp.event_id, mfp.offset, mfp.size, mfp.n_fragments, mfp.source_id, mfp.version,
              int(mfp.missing)) for mfp in mfps], "blocks")
        expected = [(fragment.event_id, mfp.source_id, fragment.type, mfp.version, fragment.payload)
                    for mfp in mfps for fragment in mfp.fragments()]
        check_fragments(file, expected)
        check_ranges(events, "first_block", "n_blocks", len(mfps), "events")
        check_ranges(events, "first_fragment", "n_fragments", len(expected), "events")
        check_ranges(blocks, "first_fragment", "n_fragments", len(expected), "blocks")
        return dict(file.attrs)


def check_way_back(work, source, path):
    back = convert(work, path, "back-" + os.path.basename(source))
    check(read(back) == read(source), f"{back} differs from {source}")
    os.unlink(back)


def compressions(work):
    """Those that this machine has: zstd needs a plugin."""
    source = work.write("probe2.mdf", "")
    done = work.evb("convert", "--compression", "zstd", source, work.path("probe2.h5"))
    if done.status == 0:
        return ["none", "deflate", "zstd"]
    check("install hdf5-filter-plugin-blosc-serial" in done.errors(), done.describe())
    hosts.check_documented(done.errors().strip())
    return ["none", "deflate"]


def test_generated():
    with evbtest.Workspace() as work:
        need_hdf5(work)
        source = mep_file(work, "--sources", "1-7,0x1001", "--packing", "30", "--events", "200",
                          "--law", "lhcb")
        for kind in compressions(work):
            path = convert(work, source, f"{kind}.h5", "--compression", kind)
            attributes = check_meps(source, path)
            check_equal({name: attributes[name] for name in (
                "evb_layout", "format", "run_number", "packing", "first_event_id",
                "last_event_id", "source_file")},
                {"evb_layout": 1, "format": b"mep", "run_number": 12, "packing": 30,
                 "first_event_id": 0, "last_event_id": 30 * 199,
                 "source_file": os.path.basename(source).encode()}, "attributes")
            check(attributes["program"].startswith(b"evb "), f"program: {attributes['program']}")
            check_way_back(work, source, path)
        # Nothing of the moment is in the file.
        again = convert(work, source, "again.h5")
        check(read(again) == read(work.path("none.h5")), "two conversions differ")


def test_missing_and_opaque():
    """MFPs that stand for missing ones, and blocks of any bytes."""
    def block(event_id, source_id, n, payload):
        return (b"\xce\x40" + n.to_bytes(2, "little") + (20 + len(payload)).to_bytes(4, "little")
                + event_id.to_bytes(8, "little") + source_id.to_bytes(2, "little") + bytes(2)
                + payload)

    missing = b"\x5c\x5c\x00\x00" + bytes(4)  # two of type 92, of size 0
    with evbtest.Workspace() as work:
        need_hdf5(work)
        source = work.path("a.mep")
        with open(source, "wb") as file:
            for mep in ([block(10, 1, 2, missing), block(10, 2, 2, b"\x0f\x0f\0\0" + b"\2\0\1\0abc")],
                        [block(12, 1, 0, b"any bytes"), block(12, 2, 0, b"")]):
                file.write(make_meps.make_mep(mep))
        path = convert(work, source, "a.h5")
        attributes = check_meps(source, path)
        check("run_number" not in attributes, f"a run without a number: {attributes}")
        check_way_back(work, source, path)


def check_records(source, path):
    records = list(evb_decode.records(read(source)))
    with open_hdf5(path) as file:
        events = columns(file["events"])
        check_equal(events["length"].tolist(), [record.size for record in records], "lengths")
        check_equal(events["run"].tolist(), [record.run for record in records], "runs")
        ids = events["event_id"].tolist()
        expected = [(ids[i], bank.source_id, bank.type, bank.version, bank.payload)
                    for i, record in enumerate(records) for bank in record.banks()]
        check_fragments(file, expected)
        check_ranges(events, "first_fragment", "n_fragments", len(expected), "events")
        check("blocks" not in file, "an MDF file has no blocks")
        return dict(file.attrs)


def test_lhcb_records():
    source = evbtest.shared_file("data/lhcb-minbias.mdf")
    with evbtest.Workspace() as work:
        need_hdf5(work)
        path = convert(work, source, "lhcb.h5")
        attributes = check_records(source, path)
        check_equal(attributes["format"], b"mdf", "format")
        back = convert(work, path, "back.mdf")
        check(read(back) == read(source), "the bytes differ")


def test_lhcb_meps():
    """Real fragments of 1238 sources, as MEPs."""
    original = evbtest.shared_file("data/lhcb-minbias.mdf")
    with evbtest.Workspace() as work:
        need_hdf5(work)
        source = mep_file(work, "--mdf", original, "--packing", "5", "--events", "2")
        for kind in compressions(work):
            path = convert(work, source, f"{kind}.h5", "--compression", kind)
            check_meps(source, path)
            check_way_back(work, source, path)


def refused(work, words, *arguments):
    before = sorted(os.listdir(work.directory))
    done = work.evb("convert", *arguments)
    check_equal(done.status, 1, f"status of {done.describe()}")
    lines = done.errors().splitlines()
    check_equal(len(lines), 1, f"lines of errors of {done.describe()}")
    check(lines[0].startswith("evb convert: ") and words in lines[0],
          f"no {words!r} in {done.describe()}")
    if "No such file" not in words:  # which says it all
        hosts.check_documented(lines[0])
    check_equal(sorted(os.listdir(work.directory)), before, "files")


def test_refusals():
    with evbtest.Workspace() as work:
        need_hdf5(work)
        source = mep_file(work, "--sources", "1-3", "--packing", "10", "--events", "20")
        path = convert(work, source, "a.h5")
        whole, out = read(path), work.path("out.mep")
        refused(work, "exists already", source, path)
        refused(work, "would be HDF5", source, out)
        refused(work, "neither HDF5 nor", work.write("text.h5", "text"), work.path("b.h5"))
        refused(work, "No such file", work.path("none.h5"), out)
        refused(work, "has events of a .mep file", path, work.path("out.mdf"))
        cut = work.path("cut.h5")
        for size in (100, len(whole) // 2, len(whole) - 1):
            with open(cut, "wb") as file:
                file.write(whole[:size])
            refused(work, "cut.h5: HDF5: ", cut, out)
        with open(work.path("cut.mep"), "wb") as file:
            file.write(read(source)[:-8])
        refused(work, "evb dump --verify checks it", work.path("cut.mep"), work.path("b.h5"))
        if not importlib.util.find_spec("h5py"):
            return
        import h5py
        with h5py.File(work.path("foreign.h5"), "w") as file:
            file["data"] = [1, 2, 3]
        refused(work, "not an HDF5 file of evb convert", work.path("foreign.h5"), out)
        with h5py.File(path, "r+") as file:
            file["data"][0] = 1
        refused(work, "damaged", path, out)


def test_interrupted():
    """On a terminal a long conversion shows how much is done and how long the rest takes; Ctrl-C
    leaves no file."""
    with evbtest.Workspace() as work:
        need_hdf5(work)
        events = read(mep_file(work, "--sources", "1-3", "--packing", "1000", "--events", "2"))
        source, target = work.path("large.mep"), work.path("large.h5")
        with open(source, "wb") as file:
            file.write(events * (LARGE // len(events)))
        ours, its = pty.openpty()
        begin = time.monotonic()
        with subprocess.Popen([evbtest.binary(), "convert", "--compression", "deflate", "--level",
                               "9", source, target], stdin=subprocess.DEVNULL, stdout=its,
                              stderr=its) as process:
            os.close(its)
            evbtest.wait_until(lambda: os.path.exists(work.path(".large.h5.convert")), "a file")
            # It has not converted much when the time from which on progress is shown has come.
            process.send_signal(signal.SIGSTOP)
            evbtest.wait_until(lambda: time.monotonic() > begin + 2.1, "2 s")
            process.send_signal(signal.SIGCONT)
            shown = b""
            while not (found := re.search(PROGRESS, shown)):
                shown += os.read(ours, 4096)
            process.send_signal(signal.SIGINT)
            try:
                while chunk := os.read(ours, 4096):
                    shown += chunk
            except OSError:
                pass  # the program has ended, and with it its side of the terminal
        os.close(ours)
        check(1 <= int(found.group(2)) <= 99, f"{found.group()}")
        check_equal(process.returncode, 1, "status")
        check(b"large.h5 is not written" in shown, f"{shown}")
        check_equal([name for name in os.listdir(work.directory) if "large.h5" in name], [],
                    "files of the output")


def test_killed():
    """A killed conversion leaves a hidden file, which the next one replaces."""
    with evbtest.Workspace() as work:
        need_hdf5(work)
        events = read(mep_file(work, "--sources", "1-3", "--packing", "1000", "--events", "2"))
        source, target = work.path("large.mep"), work.path("large.h5")
        with open(source, "wb") as file:
            file.write(events * (LARGE // len(events)))
        process = work.start(evbtest.binary(), "convert", "--compression", "deflate", "--level",
                             "9", source, target)
        evbtest.wait_until(lambda: os.path.exists(work.path(".large.h5.convert")), "a file")
        process.kill()
        process.finish()
        check(not os.path.exists(target), "a killed conversion left a file")
        convert(work, source, "large.h5")
        check(not os.path.exists(work.path(".large.h5.convert")), "the hidden file is left")
        check_way_back(work, source, target)


if __name__ == "__main__":
    evbtest.main()
