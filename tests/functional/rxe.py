# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A virtual machine whose kernel has rxe, Linux's own RoCE v2, on a bridge with evb's port:

    guest, 10.77.0.1                   evb, or another peer, 10.77.0.2
        eth0 [ tap-guest ] --- [ bridge ] --- [ veth-evb ]

The machine is made and run by ../shared/tools/rxe-vm; EVB_RXE_IMAGES names the folder for its
images, which are made when there are none (20 s).
"""

import contextlib
import os
import re
import shutil
import subprocess
import time

import evbtest
import network
from evbtest import check, check_equal, skip

GUEST_ADDRESS = "10.77.0.1"
PEER_ADDRESS = "10.77.0.2"
MTU = 1500
DEVICE = "veth-evb"
COMMAND_S = 400  # of a guest that is emulated, beside whatever else runs

# What rxe-vm would install where it is missing, and to compile for the guest; `./dev install rxe`
# does it.
PACKAGES = ("cpio", "debian-archive-keyring", "gcc", "iproute2", "kmod", "libc6-dev", "librdmacm-dev",
            "mmdebstrap", "procps", "qemu-system-data", "qemu-system-x86", "util-linux", "xz-utils", "zstd")


def _missing_packages():
    if not shutil.which("dpkg-query"):
        skip("rxe-vm needs Debian's packages")
    listed = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n",
                             *PACKAGES], capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in listed.splitlines() if line.endswith(" installed")}
    return sorted(set(PACKAGES) - installed)


class Guest(evbtest.Fixture):
    """Context manager: the namespace, the bridge and the machine. Made once, for all tests."""

    def __init__(self):
        super().__init__()
        self._tool = None
        self._name = f"evbtest-{os.getpid()}"
        self._environment = dict(os.environ)
        if "EVB_RXE_IMAGES" in os.environ:
            self._environment["RXE_VM_DIR"] = os.environ["EVB_RXE_IMAGES"]
        self.namespace = None

    def __enter__(self):
        evbtest.need_root()
        self._tool = evbtest.shared_file("tools/rxe-vm")
        missing = _missing_packages()
        if missing:
            skip(f"not installed: {' '.join(missing)}; `./dev install rxe` does it")
        built = self._run("build")
        if built.returncode != 0:
            skip(f"no image of the machine can be made here: {built.stderr.strip()[-300:]}")
        # Before what else runs: the guest's clock is the host's, and while it does not run, answers
        # that it has not read yet are late ones.
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, -10)
        return super().__enter__()

    def _run(self, *arguments, timeout=COMMAND_S, **options):
        return subprocess.run([self._tool, "--name", self._name, *arguments],
                              env=self._environment, capture_output=True, text=True,
                              timeout=timeout, check=False, **options)

    def _make(self):
        net = self._stack.enter_context(network.Bridge({"evb": (DEVICE, MTU)}))
        self.namespace = net.nodes["evb"]
        self._stack.callback(self._run, "stop")
        started = self._run("start", "--netns", net.bridge.name, "--tap", "tap-guest",
                            "--bridge", net.bridge.device, "--ip", f"{GUEST_ADDRESS}/24",
                            "--mac", "02:00:00:00:00:0a", "--mtu", str(MTU), "--mem", "512",
                            # With one, QEMU leaves out memory barriers, and its NIC comes to
                            # a stop now and then.
                            "--cpus", "2")
        if started.returncode != 0:
            skip(f"the machine does not start here: {started.stderr.strip()[-300:]}")

    def _ask(self, *arguments, timeout=COMMAND_S):
        """As _run(), of a command that needs the guest. rxe-vm waits 10 s until the guest takes it;
        a guest that runs seldom may take it later."""
        end = time.monotonic() + timeout
        while True:
            done = self._run(*arguments, timeout=timeout)
            if "does not answer" not in done.stderr or time.monotonic() > end:
                return done

    def run(self, *command, status=0, timeout=COMMAND_S):
        """Runs a command in the guest; returns what it wrote."""
        try:
            done = self._ask("exec", "--", *command, timeout=timeout)
        except subprocess.TimeoutExpired as expired:
            raise evbtest.Failure(f"{' '.join(command)}: not in {timeout} s") from expired
        check(status is None or done.returncode == status,
              f"{' '.join(command)}: status {done.returncode}: {done.stdout} {done.stderr}")
        return done.stdout + done.stderr

    def compile(self, source, name, *libraries):
        """Puts a program of this folder into the guest, whose libraries are Debian's, too."""
        source = os.path.join(os.path.dirname(__file__), source)
        with evbtest.Workspace() as work:
            program = work.path("program")
            made = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra",
                                   "-Werror", "-o", program, source, *libraries],
                                  capture_output=True, text=True, check=False)
            check(made.returncode == 0, f"{source} is not compiled: {made.stderr}")
            self.put(program, name)

    def put(self, path, name):
        done = self._ask("put", path, name)
        check(done.returncode == 0, f"{path} cannot be put into the guest: {done.stderr}")

    @contextlib.contextmanager
    def faults(self, outward=None, inward=None):
        """netem's words for what the guest sends and for what it receives: ("loss", "1%")."""
        try:
            if outward:
                self.run("tc", "qdisc", "replace", "dev", "eth0", "root", "netem", *outward)
            if inward:
                self.run("sh", "-c", "ip link show ifb0 >/dev/null 2>&1 || "
                         "{ modprobe ifb numifbs=0; ip link add ifb0 type ifb; }; "
                         "ip link set ifb0 up; "
                         "tc qdisc replace dev eth0 ingress; "
                         "tc filter replace dev eth0 ingress prio 1 handle 1 matchall "
                         "action mirred egress redirect dev ifb0; "
                         f"tc qdisc replace dev ifb0 root netem {' '.join(inward)}")
            yield
            told = self.run("tc", "-s", "qdisc", "show")
            wanted = sum("loss" in (words or ()) for words in (outward, inward))
            check_equal(len(re.findall(r"netem.*\n.*\(dropped [1-9]", told)), wanted,
                        f"directions in which packets were lost, by {told}")
        finally:
            self.run("sh", "-c", "tc qdisc del dev eth0 root; tc qdisc del dev eth0 ingress; "
                     "ip link del ifb0; true", status=None)
