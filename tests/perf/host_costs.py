# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The CPU times of `fabric.host_costs`, from what the sub-suites `build` and `sched` have measured."""

SUITES = ("build", "sched")
MTUS = (1500, 4096, 9000)  # of segments in the rows of `build` that are taken, with --quick not 4096
MTU = 9000


def _median(report, suite, title, key, wanted):
    """The figure `key` of the first row of a table that is wanted."""
    rows = [row for table in report["suites"][suite] if table["title"].startswith(title)
            for row in table["rows"] if wanted(row) and key in row["figures"]]
    if not rows:
        raise ValueError(f"{suite} has not measured {key}")
    return rows[0]["figures"][key]["median"]


def costs(report, mtu):
    """{key of fabric.host_costs: time}: a packet is a segment of this MTU, received and built, or
    sent, by one CPU; a control message is a frame with one grant, of which each side has a half.
    Raises ValueError: a figure is missing."""
    def segment(key):
        return _median(report, "build", "build: what a segment costs", key, lambda row: (
            row["conditions"]["segment"], row["conditions"]["layout"],
            row["conditions"]["consumer"]) == (mtu, "fused", "no process"))

    frame = _median(report, "sched", "sched: control messages", "small",
                    lambda row: row["name"] == "without a key")
    return {"receive_packet": f"{segment('ns_rx') + segment('ns_builder'):.0f}ns",
            "send_packet": f"{segment('ns_source'):.0f}ns",
            "control_message": f"{frame / 2:.0f}ns"}
