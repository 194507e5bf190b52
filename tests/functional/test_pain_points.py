# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Provokes the problems that users of such programs suffer from: evb reports each in one line, with its
cause and the remedy, and docs/errors.md has that line. docs/contributing/tests.md lists the problems,
and names these tests and those elsewhere."""

import glob
import os
import re
import shutil
import socket
import subprocess
import threading

import appliance
import ejfat_sender
import evbtest
import frames
import network
import telemetry
from evbtest import check, check_equal
from hosts import (NOBODY, Host, check_documented, findings, on_port, private_mounts, quiet,
                   refused, refused_configuration)

TX_FAST_FREE = 1 << 16  # RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE


# --- helpers -----------------------------------------------------------------------------------


def warned(host, configuration, *words):
    """`evb run` runs, after one line that has these words."""
    run = host.evb("run", host.file(configuration), "--duration", "0.2")
    check_equal(run.status, 0, f"status of {run.describe()}")
    lines = run.complaints()
    check_equal(len(lines), 1, f"lines of warnings of {run.describe()}")
    check_documented(lines[0])
    for word in words:
        check(word in lines[0], f"no {word!r} in the warning of {run.describe()}")


def with_rights(*capabilities):
    """The beginning of a command that has no right but these."""
    rights = ",".join(f"+{name}" for name in capabilities)
    return (*NOBODY, f"--inh-caps=-all,{rights}", f"--ambient-caps=-all,{rights}",
            f"--bounding-set=-all,{rights}")


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


# --- one cause at a time -----------------------------------------------------------------------


def test_first_cause_first():
    """Where two things are wrong, the run tells one of them, the check both; and a wrong port is
    never said to be a matter of hugepages."""
    with evbtest.Workspace() as work:
        host = Host(work)
        configuration = on_port(work, "af_packet", "evbnone0")
        failures = refused(host, configuration, 'no network interface "evbnone0"')
        check(not any("hugepages" in line for line in failures), f"failures {failures}")
        configuration["lcores"] = [{"cpu": 1023, "roles": ["rx.wire", "builder.b0"]}]
        failures = refused(host, configuration, "lcores: CPU 1023 is not there")
        check(any("evbnone0" in line for line in failures), f"failures {failures}")


def test_role_of_no_such_name():
    with evbtest.Workspace() as work:
        roles = ["rx.wire", "builder.b0", "source.bords"]
        refused_configuration(Host(work), quiet(work, lcores=[{"cpu": 0, "roles": roles}]),
                              "lcores[0].roles", 'no role "source.bords"')


# --- rights and folders ------------------------------------------------------------------------


def test_folder_of_another_user():
    """DPDK keeps its sockets below one folder, which is whose made it first."""
    with evbtest.Workspace() as work:
        evbtest.need_root()
        os.chmod(work.directory, 0o755)
        folder = work.folder("runtime")
        os.chmod(folder, 0o777)
        os.mkdir(os.path.join(folder, "dpdk"), 0o700)
        host = Host(work, prefix=("env", f"XDG_RUNTIME_DIR={folder}", *NOBODY))
        refused(host, quiet(work), f"{folder}/dpdk/evb-", f"{folder}/dpdk: Permission denied",
                "set XDG_RUNTIME_DIR to a folder of this user")
        os.rmdir(os.path.join(folder, "dpdk"))
        run = host.evb("run", host.file(quiet(work)))
        check_equal((run.status, run.complaints()), (0, []), run.describe())


def test_tmp_of_two_users():
    """Where /tmp/dpdk is another user's, evb makes a folder of its own, in which its clients look."""
    with evbtest.Workspace() as work:
        os.chmod(work.directory, 0o755)
        prefix = private_mounts(work)
        kept = [work.directory, os.path.dirname(evbtest.binary())]
        script = "".join(f"mkdir -p /run/kept{i} && mount --bind {path} /run/kept{i} && "
                         for i, path in enumerate(kept))
        script += "mount -t tmpfs -o mode=1777 tmpfs /tmp && mkdir -m 700 /tmp/dpdk"
        script += "".join(f" && mkdir -p {path} && mount --bind /run/kept{i} {path}"
                          for i, path in enumerate(kept) if path.startswith("/tmp/"))
        subprocess.run([*prefix, "sh", "-c", script], check=True)
        user = Host(work, prefix=(*prefix, "env", "-u", "XDG_RUNTIME_DIR", *NOBODY))
        file = user.file({**quiet(work), "name": "second"})
        check("sockets lie in /tmp/evb-65534/dpdk" in user.evb("host", "check", file).output(),
              "the check names the folder")
        endless = user.start("run", file, "--set", "generators[0].events=0",
                             "--set", "generators[0].rate=100")
        endless.wait_for_line("running")
        stat = user.evb("stat", "--name", "second")
        check("segments_received" in stat.output(), stat.describe())
        endless.stop()
        check_equal((endless.status, endless.complaints()), (0, []), endless.describe())


def test_file_system_that_is_read_only():
    """As in a container with --read-only and no --tmpfs /run."""
    with evbtest.Workspace() as work:
        prefix = private_mounts(work)
        subprocess.run([*prefix, "mount", "-o", "remount,ro", "/run"], check=True)
        refused(Host(work, prefix=prefix), quiet(work), "cannot be made: /var/run: Read-only",
                "--tmpfs /run")


def test_hugepages_of_another_user():
    with evbtest.Workspace() as work:
        os.chmod(work.directory, 0o755)
        prefix = private_mounts(work)
        subprocess.run([*prefix, "sh", "-c", "mkdir -p /dev/hugepages && mount -t hugetlbfs"
                        " -o pagesize=2M,mode=0700 nodev /dev/hugepages"], check=True)
        configuration = quiet(work, memory={"kind": "hugepages"})
        configuration["builders"][0]["slots"] = 1
        folder = work.folder("runtime")
        os.chown(folder, 65534, 65534)
        host = Host(work, prefix=(*prefix, "env", f"XDG_RUNTIME_DIR={folder}", *NOBODY))
        told = host.evb("host", "check", host.file(configuration))
        if any(line.split()[1] == "hugepages" for line in findings(told, "fail")):
            evbtest.skip("too few hugepages are free")
        mend = "chown 65534:65534 /dev/hugepages"
        refused(host, configuration, "the hugetlbfs at /dev/hugepages may not be written",
                f"as root: {mend}")
        subprocess.run([*prefix, *mend.split()], check=True)
        run = host.evb("run", host.file(configuration))
        check_equal((run.status, run.complaints()), (0, []), run.describe())


def test_xdp_without_its_capabilities():
    with evbtest.Workspace() as work, network.Network() as net:
        os.chmod(work.directory, 0o755)
        refused(Host(work, net.evb, with_rights("net_raw", "net_admin", "ipc_lock")),
                on_port(work, "af_xdp", net.evb.device),
                "driver net_af_xdp needs CAP_BPF, CAP_PERFMON, which this process lacks",
                "setcap", "--cap-add")


def test_xdp_behind_seccomp():
    """A filter as some container engines have it: bpf() is refused to all but CAP_SYS_ADMIN."""
    filter_bpf = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
steps = ((0x20, 0, 0, 0),           # load the number of the system call
         (0x15, 0, 1, %d),          # is it bpf()?
         (0x06, 0, 0, 0x00050001),  # EPERM
         (0x06, 0, 0, 0x7FFF0000))  # allowed
program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
filter = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(program)))
if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filter, 0, 0) != 0:
    sys.exit("no seccomp here")
os.execv(sys.argv[1], sys.argv[1:])
"""
    number = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)
    if number is None:
        evbtest.skip("the number of bpf() is not known here")
    with evbtest.Workspace() as work, network.Network() as net:
        prefix = ("/usr/bin/python3", "-c", filter_bpf % number)
        refused(Host(work, net.evb, prefix), on_port(work, "af_xdp", net.evb.device),
                "driver net_af_xdp needs bpf(), which this process may not call although it has "
                "CAP_BPF", "--security-opt seccomp=unconfined")


# --- links and packets -------------------------------------------------------------------------


def test_packets_longer_than_the_port_takes():
    """Nobody needs to send such: so only who asks is told."""
    with evbtest.Workspace() as work, network.Network(mtu=9000) as net:
        host = Host(work, net.evb)
        told = host.evb("host", "check", host.file(on_port(work, "af_packet", net.evb.device)))
        check_equal(told.status, 0, f"status of {told.describe()}")
        lines = [line for line in findings(told, "warn") if "mtu is 1500" in line]
        check_equal(len(lines), 1, f"lines of {told.describe()}")
        check_documented(lines[0])
        check("takes packets of up to 9000: longer ones are lost: set ports[0].mtu to 9000"
              in lines[0], lines[0])


def test_no_carrier():
    with evbtest.Workspace() as work, network.Network() as net:
        ip("-n", net.host.name, "link", "set", net.host.device, "down")
        warned(Host(work, net.evb),
               on_port(work, "af_packet", net.evb.device, link_timeout="100ms"),
               f"interface {net.evb.device} has no carrier", "cable")


def test_nobody_answers():
    """A generator whose receiver is not there."""
    with evbtest.Workspace() as work, network.Network() as net:
        configuration = quiet(work)
        del configuration["builders"]
        configuration["ports"] = [{"name": "wire", "profile": "af_packet",
                                   "device": net.host.device, "address": "10.0.0.7/24"}]
        configuration["generators"][0]["destination"] = {"address": network.EVB_ADDRESS}
        host = Host(work, net.host)
        run = host.evb("run", host.file(configuration))
        check_equal(run.status, 1, f"status of {run.describe()}")
        lines = run.errors().splitlines()
        check_equal(len(lines), 1, f"lines of errors of {run.describe()}")
        check_documented(lines[0])
        check(f"nobody answers for {network.EVB_ADDRESS} on port wire" in lines[0] and
              "start the receiver first" in lines[0], lines[0])


def test_start_under_load():
    """A port that is started while packets come in, again and again."""
    with evbtest.Workspace() as work, network.Network() as net:
        stream = ejfat_sender.Stream(range(0x1001, 0x1005), 50, 10, (0, 400))
        plan = ejfat_sender.Plan(stream, end_of_run=False)
        framer = frames.Framer(source=network.HOST_ADDRESS, destination=network.EVB_ADDRESS,
                               source_mac=net.host.hardware_address().hex(),
                               destination_mac=net.evb.hardware_address().hex())
        packets = [framer.frame(b"".join(plan.datagram_parts(segment)))
                   for segment, _ in plan.packets]
        raw = net.host.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        raw.bind((net.host.device, 0))
        ended = threading.Event()

        def flood():
            pace = ejfat_sender.Pace(4000)
            while not ended.is_set():
                for packet in packets:
                    raw.send(packet)
                    pace.step()

        sender = threading.Thread(target=flood)
        sender.start()
        try:
            for _ in range(3):
                port = {"name": "wire", "profile": "af_packet", "device": net.evb.device,
                        "address": f"{network.EVB_ADDRESS}/24"}
                evb = work.run(appliance.builder(work, port, stream, writers=[],
                                                 memory={"kind": "shm"}), namespace=net.evb)
                evb.wait_until(lambda run=evb: telemetry.summary(run.name)["segments_received"] > 100,
                               "segments of the load")
                summary = evb.drain()
                evbtest.check_identities(summary, summary["packets"]["missed"])
        finally:
            ended.set()
            sender.join()
            raw.close()


# --- buffers -----------------------------------------------------------------------------------


def test_buffers_are_told():
    """How full a pool is and was; and that no driver is asked to free buffers in a hurry, for what is
    sent lies in several, which others may hold, too."""
    with evbtest.Workspace() as work:
        configuration = quiet(work)
        configuration["generators"][0].update(events=0, rate=200)
        evb = work.run(configuration)
        evb.wait_until(lambda: telemetry.summary(evb.name)["events_complete"] > 50, "events")
        with telemetry.Telemetry(evb.name) as client:
            wire = client.query("/evb/port/info", "wire")
            offloads = client.query("/ethdev/info", str(wire["id"]))["tx_offloads"]
        check(0 < wire["pool_free_lowest"] <= wire["pool_mbufs"], f"buffers {wire}")
        # DPDK 24.11 gives the names, in place of a number.
        hurried = "MBUF_FAST_FREE" in offloads if isinstance(offloads, list) else offloads & TX_FAST_FREE
        check(not hurried, f"offload of fast release in {offloads}")
        check_equal(evb.stop(), 0, f"status of {evb.describe()}")


# --- the list ----------------------------------------------------------------------------------


def functions(path):
    """Names of the tests in a file, Python or C."""
    with open(path, encoding="utf-8") as file:
        return set(re.findall(r"^(?:def |static void )(\w+)\(", file.read(), re.MULTILINE))


def table(page, heading):
    """Rows of the table under the line `heading`, as lists of cells."""
    with open(os.path.join(evbtest.REPOSITORY, "docs", page), encoding="utf-8") as file:
        text = file.read()
    check(heading in text, f"docs/{page} has no line {heading}")
    rows = re.findall(r"^\|(.*)\|$", text.split(heading)[1].split("\n\n")[0], re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows if not re.match(r"[-|]+$", row)]


def test_list_is_true():
    """The tests that docs/contributing/tests.md names for each trouble of users, and for each case of
    RoCE, exist; and each test of this file is named."""
    listed = table("contributing/tests.md", "| trouble | tests |\n")
    check(len(listed) > 15, f"docs/contributing/tests.md has {len(listed)} troubles only")
    cases = table("contributing/tests.md", "| case | tests |\n")
    check(len(cases) > 20, f"docs/contributing/tests.md has {len(cases)} cases of RoCE only")
    named = set()
    for row in listed + cases:
        files = re.findall(r"`(\w+\.(?:py|c)): ([\w, ]+)`", row[-1])
        check(files, f"no tests in | {' | '.join(row)} |")
        for file, name in [(file, name) for file, names in files for name in names.split(", ")]:
            paths = glob.glob(os.path.join(evbtest.REPOSITORY, "tests", "**", file), recursive=True)
            check(any(name in functions(path) for path in paths), f"no {file}: {name}")
            named.add((file, name))
    here = os.path.basename(__file__)
    own = {name for name in functions(__file__) if name.startswith("test_")}
    check_equal(own - {"test_list_is_true"} - {name for file, name in named if file == here},
                set(), f"tests of {here} that docs/contributing/tests.md does not name")


if __name__ == "__main__":
    for tool in ("setpriv", "nsenter", "unshare"):
        if shutil.which(tool) is None:
            print(f"skip: {tool} is not installed")
            raise SystemExit(evbtest.EXIT_SKIP)
    evbtest.main()
