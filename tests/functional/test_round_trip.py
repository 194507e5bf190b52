# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Real data: events of the full LHCb detector, one MFP a source, as EJFAT segments over a wire in
memory, built, and written as MDF: the same banks as in the original, byte for byte."""

import evb_decode
import evbtest
import judge
from evbtest import check, check_equal

EVENTS = 10  # in the file
SOURCES = 1238


def source_map(work, original):
    path = work.path("sources.json")
    process = work.evb("gen", "--mdf", original, "--source-map", path, "--events", "1",
                       "--out", work.path("sources.mfp"))
    check_equal(process.status, 0, f"status of {process.describe()}")
    return path


def round_trip(mtu, packing, cycles=2):
    original = evbtest.shared_file("data/lhcb-minbias.mdf")
    with evbtest.Workspace() as work:
        sources = source_map(work, original)
        out = work.folder("events")
        configuration = {
            "name": work.name(),
            "ports": [{"name": "wire", "profile": "ring", "mtu": mtu, "address": "10.0.0.1/24"}],
            "sources": {"ids": {"source_map": sources}, "packing": packing},
            "builders": [{"name": "b0", "slots": 16, "slot_size": "8MiB"}],
            "events": {"deadline": "30s"},
            "generators": [{"name": "boards", "port": "wire", "kind": "mdf", "file": original,
                            "events": EVENTS * cycles // packing}],
            "writers": [{"name": "files", "directory": out, "format": "mdf",
                         "source_map": sources}],
        }
        summary = work.run(configuration).end(timeout=120)
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(judge.event_counts(summary), (EVENTS * cycles // packing, 0), "events")
        check_equal(summary["sources"]["expected"], SOURCES, "sources")
        difference = evb_decode.compare_mdf(original, judge.files(out, "mdf"), EVENTS * cycles,
                                            ignore_status=True)
        check(difference is None, f"the banks differ: {difference}")


def test_packing_1_mtu_1500():
    round_trip(1500, 1)


def test_packing_1_mtu_9000():
    round_trip(9000, 1)


def test_packing_10_mtu_1500():
    round_trip(1500, 10)


def test_packing_10_mtu_9000():
    round_trip(9000, 10)


if __name__ == "__main__":
    evbtest.main()
