# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The dissectors for Wireshark: each field that evb's own decoders find in frames of all formats has the
same value in tshark."""

import collections
import glob
import os
import shutil
import subprocess
import xml.etree.ElementTree

import evbtest
from evbtest import check, check_equal

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/nonexistent")
HEADERS = 42  # bytes, of Ethernet, IPv4 and UDP
PCAP_HEADER, PCAP_PACKET_HEADER = 24, 16


def tshark(capture):
    """What tshark says of each frame: [{field: [values]}]."""
    if not shutil.which("tshark"):
        evbtest.skip("tshark is not installed")
    scripts = [*sorted(glob.glob(os.path.join(ROOT, "wireshark", "*.lua"))),
               os.environ["EVB_CONTROL_DISSECTOR"]]
    options = [option for script in scripts for option in ("-X", f"lua_script:{script}")]
    with open(capture, "rb") as file:
        # Wireshark 4.4 runs no Lua for root.
        output = subprocess.run([*(NOBODY if os.geteuid() == 0 else ()), "tshark", *options, "-r", "-",
                                 "-T", "pdml"], check=True, stdin=file, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL).stdout
    frames = []
    for packet in xml.etree.ElementTree.fromstring(output).iter("packet"):
        found = collections.defaultdict(list)
        for field in packet.iter("field"):
            found[field.get("name")].append(field.get("show"))
        frames.append(found)
    return frames


def number(text):
    """A number as tshark writes it: decimal, hexadecimal, an address, or True and False."""
    if text in ("True", "False"):
        return int(text == "True")
    if text.count(".") == 3:
        return int.from_bytes(bytes(map(int, text.split("."))), "big")
    return int(text, 0)


def known_frames(work, seed):
    """A capture, and what evb's decoders find: [{field: [values]}]."""
    capture = work.path(f"frames-{seed}.pcap")
    output = subprocess.run([evbtest.program("known_frames"), capture, str(seed)], check=True,
                            stdout=subprocess.PIPE, universal_newlines=True).stdout
    frames = []
    for line in output.splitlines():
        frame, field, value = line.split(" ", 2)
        while len(frames) < int(frame):
            frames.append(collections.defaultdict(list))
        frames[-1][field].append(value)
    return capture, frames


def check_fields(at, wanted, found):
    for field, values in wanted.items():
        seen = found.get(field, [])
        if values[0].startswith("'"):
            check_equal(seen, [value[1:] for value in values], f"frame {at}: {field}")
        else:
            check_equal([number(value) for value in seen], [int(value) for value in values],
                        f"frame {at}: {field}")


def test_all_fields():
    with evbtest.Workspace() as work:
        for seed in (1, 2):
            capture, wanted = known_frames(work, seed)
            found = tshark(capture)
            check_equal(len(found), len(wanted), "frames")
            for at, (ours, theirs) in enumerate(zip(wanted, found), 1):
                check_fields(at, ours, theirs)
                check(not theirs["_ws.expert.message"], f"frame {at}: {theirs['_ws.expert.message']}")


def test_damage():
    """A wrong CRC is named, and cut or random records neither stop tshark nor pass."""
    with evbtest.Workspace() as work:
        capture, _ = known_frames(work, 3)
        with open(capture, "rb") as file:
            content = bytearray(file.read())
        at = PCAP_HEADER
        while at < len(content):
            size = int.from_bytes(content[at + 8:at + 12], "little")
            begin = at + PCAP_PACKET_HEADER + HEADERS
            at += PCAP_PACKET_HEADER + size
            for byte in range(begin + 66, at, 37):  # behind the header of a frame of ours
                content[byte] ^= 0x55
        damaged = work.path("damaged.pcap")
        with open(damaged, "wb") as file:
            file.write(content)
        text = [message for frame in tshark(damaged) for message in frame["_ws.expert.message"]]
        check("The CRC is wrong" in text, text)
        check(not [message for message in text if "Lua" in message], text)


if __name__ == "__main__":
    evbtest.main()
