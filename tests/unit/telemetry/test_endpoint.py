#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The endpoint for DPDK's exporter makes the values by the tables of the program.

usage: test_endpoint.py ENDPOINT.py
"""

import importlib.util
import sys
import unittest


class Socket:
    """Answers as an appliance does, in pages of two things."""

    answers = {
        "/evb/info": {"name": "demo", "state": "draining", "configuration": 'a"b', "run_number": 7,
                      "uptime_seconds": 3, "hugepages": 0, "lcores": 1, "roles": 2, "sources": 3},
        "/evb/build": {"version": "1.2.3", "commit": "abc", "dpdk": "22.11.4", "xdp": "yes"},
        "/evb/summary": {"uptime_seconds": 3, "loss_total": 4, "bytes_built": 5,
                         "segment_drop_late": 6, "latency_complete_p50_ns": 1},
    }
    groups = {
        "link": [{"id": i, "producer": f"rx.{i}", "consumer": "builder.b0", "full": 10 + i}
                 for i in range(5)],
        "builder": [{"name": "b0", "ring": "/dev/shm/x",
                     "latency_complete_ns": {"le_512": 1, "le_1024": 2, "inf": 3, "count": 3,
                                             "sum": 3000000000, "max": 2000000000},
                     "group_0": {"name": "disk", "members": 1},
                     "group_3": {"name": "spy", "members": 0}}],
        "port": [{"name": "wire", "link_megabits": 100000}],
    }

    def cmd(self, uri, arg=None):
        if uri in self.answers:
            return self.answers[uri]
        group = uri.removeprefix("/evb/").removesuffix("/all")
        things = self.groups.get(group)
        if things is None:
            return {"count": 0}
        page = list(enumerate(things))[int(arg):int(arg) + 2]
        return {"count": len(things), **{f"{group}_{i}": thing for i, thing in page}}


class Endpoint(unittest.TestCase):
    endpoint = None

    @classmethod
    def setUpClass(cls):
        # as the exporter loads it
        spec = importlib.util.spec_from_file_location("evb", cls.endpoint)
        cls.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.module)
        cls.values = {}
        for name, value, labels in cls.module.metrics(Socket()):
            cls.values.setdefault(name, []).append((labels, value))

    def test_info_has_every_metric(self):
        table = self.module.info()
        self.assertLessEqual(set(self.values), set(table))
        for name, (description, kind) in table.items():
            self.assertRegex(name, r"^[a-z][a-z0-9_]*$")
            self.assertIn(kind, ("counter", "gauge", "untyped"))
            self.assertNotIn("\n", description)
            self.assertEqual(kind == "counter", name.endswith("_total"), name)

    def test_counters_and_causes(self):
        self.assertEqual(self.values["loss_total"], [({}, 4)])
        self.assertEqual(self.values["built_bytes_total"], [({}, 5)])
        self.assertEqual(self.values["segment_drop_total"], [({"cause": "late"}, 6)])
        self.assertNotIn("latency_complete_p50_ns", self.values)

    def test_things_of_all_pages(self):
        self.assertEqual([value for _, value in self.values["link_full_total"]],
                         [10, 11, 12, 13, 14])
        self.assertEqual(self.values["link_full_total"][4][0],
                         {"link": "4", "producer": "rx.4", "consumer": "builder.b0"})

    def test_texts_and_states(self):
        self.assertEqual(self.values["info"], [({"configuration": "a'b", "run_number": "7"}, 1)])
        self.assertEqual(self.values["build_info"], [
            ({"version": "1.2.3", "commit": "abc", "dpdk": "22.11.4", "xdp": "yes"}, 1)])
        self.assertEqual(self.values["builder_info"], [({"builder": "b0", "ring": "/dev/shm/x"}, 1)])
        self.assertEqual([labels["evb_state"] for labels, value in self.values["state"] if value],
                         ["draining"])

    def test_units(self):
        self.assertEqual(self.values["port_link_bytes_per_second"], [({"port": "wire"}, 12.5e9)])

    def test_histograms(self):
        labels = {"builder": "b0"}
        name = "builder_latency_complete_seconds"
        self.assertEqual(self.values[f"{name}_bucket"], [
            (labels | {"le": "1.024e-06"}, 2), (labels | {"le": "+Inf"}, 3)])
        self.assertEqual(self.values[f"{name}_count"], [(labels, 3)])
        self.assertEqual(self.values[f"{name}_sum"], [(labels, 3.0)])
        self.assertEqual(self.values["builder_latency_complete_max_seconds"], [(labels, 2.0)])

    def test_nested(self):
        self.assertEqual(self.values["builder_group_members"], [
            ({"builder": "b0", "group": "disk"}, 1), ({"builder": "b0", "group": "spy"}, 0)])


if __name__ == "__main__":
    Endpoint.endpoint = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
