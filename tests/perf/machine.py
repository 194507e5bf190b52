# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The machine that is measured: what it is, which CPUs to use, and hugepages for the run."""

import glob
import json
import os
import platform
import re
import subprocess
import tempfile
import time

import evbtest

MIB = 1 << 20
_PAGES = "/proc/sys/vm/nr_hugepages"


def _read(path, default=""):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return default


def _field(text, name):
    match = re.search(rf"^{re.escape(name)}\s*:\s*(.+)$", text, re.MULTILINE)
    return match.group(1).strip() if match else ""


def _memory_info(name):
    """A field of /proc/meminfo: bytes, or pages where it counts those."""
    value = _field(_read("/proc/meminfo"), name).split()
    if not value:
        return 0
    return int(value[0]) * (1024 if value[1:] == ["kB"] else 1)


def last_level_cache():
    """Bytes of the largest cache that CPU 0 has a share of; 0 if the machine does not say."""
    sizes = [_read(path).strip() for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/*/size")]
    units = {"K": 1 << 10, "M": MIB, "G": 1 << 30}
    return max((int(size[:-1]) * units[size[-1]] for size in sizes if size[-1:] in units),
               default=0)


def cpus():
    """The CPUs that may be used, the one first that disturbs least: kernels do their own work on
    the first."""
    return sorted(os.sched_getaffinity(0), reverse=True)


def _version(*command):
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return result.stdout.strip().splitlines()[0] if result.stdout.strip() else "unknown"


def describe(build):
    """What a figure must be read with."""
    with open(os.path.join(build, "tests", "perf", "toolchain.json"), encoding="utf-8") as file:
        toolchain = json.load(file)
    cpu_info = _read("/proc/cpuinfo")
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "cpu": _field(cpu_info, "model name") or platform.machine(),
        "cpus": len(cpus()),
        "last_level_cache_bytes": last_level_cache(),
        "memory_bytes": _memory_info("MemTotal"),
        "virtual": "hypervisor" in _field(cpu_info, "flags").split(),
        "kernel": platform.release(),
        "load_before": os.getloadavg()[0],
        "compiler": toolchain["compiler"],
        "optimization": toolchain["optimization"],
        "link_time_optimization": toolchain["link_time_optimization"] == "yes",
        "sanitizers": toolchain["sanitizers"],
        "dpdk": toolchain["dpdk"],
        "commit": _version("git", "-C", evbtest.REPOSITORY, "describe", "--always", "--dirty"),
        "hugepage_bytes": _memory_info("Hugepagesize"),
    }


class Hugepages:
    """Context manager: sees to it that so many bytes of hugepages are free, if it may, and gives
    back what it took. `total` and `added` are bytes; `note` says what was not possible."""

    def __init__(self, wanted):
        self._wanted = wanted
        self._added_pages = 0
        self._mount = None
        self.note = ""

    def __enter__(self):
        try:
            self._reserve()
            self._mount_if_none()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _reserve(self):
        page = _memory_info("Hugepagesize")
        free = (_memory_info("HugePages_Free") - _memory_info("HugePages_Rsvd")) * page
        if page == 0 or free >= self._wanted:
            return
        # What stays must be enough for everybody else.
        allowed = min(self._wanted - free, _memory_info("MemAvailable") // 2)
        if not os.access(_PAGES, os.W_OK):
            self.note = f"{free // MIB} MiB of hugepages are free, {self._wanted // MIB} MiB " \
                "wanted: only root can reserve more"
            return
        before = int(_read(_PAGES))
        self._write(before + -(-allowed // page))
        self._added_pages = int(_read(_PAGES)) - before
        free += self._added_pages * page
        if free < self._wanted:
            self.note = f"{free // MIB} MiB of hugepages are free, {self._wanted // MIB} MiB wanted"

    @staticmethod
    def _write(pages):
        with open(_PAGES, "w", encoding="ascii") as file:
            file.write(str(pages))

    def _mount_if_none(self):
        """Event rings lie in files, which need a file system of hugepages."""
        if evbtest.hugetlbfs_mounts() or os.geteuid() != 0 or _memory_info("HugePages_Total") == 0:
            return
        folder = tempfile.mkdtemp(prefix="evb-hugepages-")
        done = subprocess.run(["mount", "-t", "hugetlbfs", "nodev", folder], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            os.rmdir(folder)
            self.note = f"no hugetlbfs: {done.stderr.strip()}"
            return
        self._mount = folder

    def __exit__(self, *_):
        # Another evb may have put its event ring there; it keeps it, and the mount.
        if self._mount and subprocess.run(["umount", self._mount], check=False).returncode == 0:
            os.rmdir(self._mount)
        if self._added_pages > 0:
            # Others may have changed the number meanwhile: only what was added is taken back.
            self._write(max(0, int(_read(_PAGES)) - self._added_pages))

    def added_bytes(self):
        return self._added_pages * _memory_info("Hugepagesize")
