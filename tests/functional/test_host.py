# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb host`, and the look that `evb run` takes at the host: each thing that can be wrong is
provoked, and told in one line with its cause and what to do about it.

What is changed here is changed in namespaces of the test's own.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess

import appliance
import evbtest
import network
from evbtest import check, check_equal
from hosts import (NOBODY, Host, findings, on_port, private_mounts, quiet, refused,
                   refused_configuration)

_SIOCGIFMTU = 0x8921
_SIOCGIFFLAGS = 0x8913


# --- helpers -----------------------------------------------------------------------------------


def interface(namespace, request):
    """What the kernel answers of the namespace's interface: a number."""
    query = struct.pack("16sI20x", namespace.device.encode(), 0)
    with namespace.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        return struct.unpack("16sI20x", fcntl.ioctl(control, request, query))[1]


def mtu(namespace):
    return interface(namespace, _SIOCGIFMTU)


def is_up(namespace):
    return bool(interface(namespace, _SIOCGIFFLAGS) & 1)


# --- the table ---------------------------------------------------------------------------------


def test_check_without_a_configuration():
    with evbtest.Workspace() as work:
        process = Host(work).evb("host", "check")
        check_equal(process.status, 0, f"status of {process.describe()}")
        for stage in ("CPUs", "cgroup", "capabilities", "memlock"):
            check(any(line.split()[1] == stage for line in findings(process, "ok")),
                  f"no {stage} in {process.describe()}")


def test_check_of_a_configuration_that_can_run():
    with evbtest.Workspace() as work:
        host = Host(work)
        file = host.file(quiet(work))
        process = host.evb("host", "check", file)
        check_equal(process.status, 0, f"status of {process.describe()}")
        check_equal(findings(process, "fail"), [], "failures")
        check(process.lines[-1].startswith("ready: 0 failures"), process.describe())
        run = host.evb("run", file)
        check_equal(run.status, 0, f"end of {run.describe()}")
        check_equal(run.complaints(), [], f"lines on standard error of {run.describe()}")


def test_check_of_directories():
    """Those of writers are made or can be written, and have room; the same as JSON."""
    with evbtest.Workspace() as work:
        host = Host(work)
        configuration = quiet(work)
        for directory, rotate_size, verdict, text in (
                (work.path("events"), "1MiB", "ok", "MiB free"),
                (work.path("events"), "60TiB", "warn", "62914560 MiB are little"),
                (work.path("none/events"), "1MiB", "fail", "No such file or directory")):
            configuration["writers"] = [{"name": "disk", "directory": directory,
                                         "rotate_size": rotate_size}]
            process = host.evb("host", "check", "--json", host.file(configuration))
            report = json.loads(process.output())
            found = [finding for finding in report["findings"] if finding["stage"] == "outputs"]
            check_equal([finding["verdict"] for finding in found], [verdict], process.describe())
            check("writer disk: " in found[0]["text"] and text in found[0]["text"] + found[0]["remedy"], f"{found}")
            check_equal((report["ready"], process.status),
                        (verdict != "fail", int(verdict == "fail")), process.describe())


def test_bad_options():
    with evbtest.Workspace() as work:
        host = Host(work)
        for arguments in ((), ("nothing",), ("check", "a", "b"), ("check", "missing.json"),
                          ("prepare", "--nonsense")):
            process = host.evb("host", *arguments)
            check_equal(process.status, 1, f"status of {process.describe()}")
            check(process.errors(), f"no message from {process.describe()}")


# --- memory ------------------------------------------------------------------------------------


def test_too_few_hugepages():
    with evbtest.Workspace() as work:
        configuration = quiet(work, memory={"kind": "hugepages"})
        configuration["builders"][0].update(slots=65536, slot_size="16MiB")
        refused(Host(work), configuration, "NUMA node 0", "free hugepages", "are wanted",
                "as root: echo ", "nr_hugepages")


def test_shared_memory_too_small():
    with evbtest.Workspace() as work:
        configuration = quiet(work)
        configuration["builders"][0].update(slots=65536, slot_size="64MiB")
        refused(Host(work), configuration, "/dev/shm", "the slots take 41943",
                "remount,size=")


def test_pool_too_small():
    """Packet pools that a limit does not leave room for."""
    with evbtest.Workspace() as work:
        refused_configuration(Host(work), quiet(work, memory={"kind": "shm", "limit": "1MiB"}),
                              "memory.limit: packet pools take ", "more than the limit")


def test_ring_directory():
    with evbtest.Workspace() as work:
        missing = work.path("nowhere")
        refused(Host(work), quiet(work, event_ring={"directory": missing}),
                f"event_ring.directory: there is no {missing}", f"mkdir -p {missing}")


def test_no_hugetlbfs():
    """Hugepages that no file system gives access to; prepare mounts one, restore unmounts it."""
    with evbtest.Workspace() as work:
        host = Host(work, prefix=private_mounts(work))
        configuration = quiet(work, memory={"kind": "hugepages"})
        configuration["builders"][0]["slots"] = 1
        file, state = host.file(configuration), work.path("state.json")
        told = host.evb("host", "check", file)
        if any(line.split()[1] == "hugepages" for line in findings(told, "fail")):
            evbtest.skip("too few hugepages are free")
        refused(host, configuration, "no hugetlbfs is mounted", "mount -t hugetlbfs")
        process = host.evb("host", "prepare", file, "--state", state)
        check_equal(process.status, 0, f"status of {process.describe()}")
        run = host.evb("run", file)
        check_equal(run.status, 0, f"status of {run.describe()}")
        check("packets in hugepages" in run.output(), run.describe())
        restored = host.evb("host", "restore", "--state", state)
        check_equal(restored.status, 0, f"status of {restored.describe()}")
        refused(host, configuration, "no hugetlbfs is mounted")


# --- other runs --------------------------------------------------------------------------------


def test_two_runs_with_one_name():
    with evbtest.Workspace() as work:
        host = Host(work)
        configuration = quiet(work)
        configuration["generators"][0].update(events=0, rate=100)
        first = host.start("run", host.file(configuration))
        first.wait_for_line("running")
        refused(host, configuration, f"an appliance {configuration['name']} runs already",
                f"process {first.pid}", "stop it, or give this one another `name`")
        check_equal(first.stop(), 0, f"status of {first.describe()}")
        run = host.evb("run", host.file(appliance.merged(configuration, {})), "--duration", "0.2")
        check_equal(run.status, 0, f"status of {run.describe()}")


def test_leftovers_of_a_dead_run():
    """They are told, they hinder nobody, and prepare removes them; a live run's stay."""
    with evbtest.Workspace() as work:
        host = Host(work, prefix=private_mounts(work))
        dead, live = (quiet(work) for _ in range(2))
        for configuration in (dead, live):
            configuration["generators"][0].update(events=0, rate=100)
        running = [host.start("run", host.file(configuration)) for configuration in (dead, live)]
        for process in running:
            process.wait_for_line("running")
        running[0].signal(signal.SIGKILL)
        running[0].finish()
        told = host.evb("host", "check", host.file(dead))
        check_equal(told.status, 0, f"status of {told.describe()}")
        warnings = findings(told, "warn")
        check(any("1 event ring of dead runs in /dev/shm" in line and "evb host prepare" in line
                  for line in warnings), told.describe())
        check(any("1 run-time folder of dead runs" in line for line in warnings), told.describe())
        prepared = host.evb("host", "prepare", "--state", work.path("state.json"))
        check_equal(prepared.status, 0, f"status of {prepared.describe()}")
        again = host.evb("host", "check", host.file(dead))
        check(not any("dead runs" in line for line in again.lines), again.describe())
        check(running[1].running(), running[1].describe())
        check_equal(running[1].stop(), 0, f"status of {running[1].describe()}")


# --- CPUs --------------------------------------------------------------------------------------


def test_cpus_that_are_not_there():
    with evbtest.Workspace() as work:
        roles = ["source.boards", "rx.wire", "builder.b0"]
        refused(Host(work), quiet(work, lcores=[{"cpu": 1023, "roles": roles}]),
                "lcores: CPU 1023 is not there or offline", "change `cpu`")


def test_cpus_that_are_not_allowed():
    if os.cpu_count() < 2:
        evbtest.skip("needs two CPUs")
    with evbtest.Workspace() as work:
        roles = ["source.boards", "rx.wire", "builder.b0"]
        refused(Host(work, prefix=("taskset", "-c", "0")),
                quiet(work, lcores=[{"cpu": 1, "roles": roles}]),
                "lcores: CPU 1 is not among those that this process may use", "change `cpu`")


# --- drivers and devices -----------------------------------------------------------------------


def test_profile_unknown():
    with evbtest.Workspace() as work:
        refused_configuration(Host(work), on_port(work, "no_such", "eth1"),
                              "ports[0].profile", "no_such", "one of: af_packet")


def test_option_unknown():
    with evbtest.Workspace() as work, network.Network() as net:
        refused(Host(work, net.evb),
                on_port(work, "af_packet", net.evb.device, options={"framecont": "1024"}),
                "ports[0].options.framecont: driver net_af_packet knows no such argument",
                "framecnt=<int>")


def test_driver_not_installed():
    folder = "/usr/lib/x86_64-linux-gnu/dpdk"
    if not os.path.isdir(folder):
        evbtest.skip(f"DPDK's drivers are not in {folder}")
    with evbtest.Workspace() as work:
        prefix = private_mounts(work)
        script = (f"for folder in {folder}/*; do mkdir /run/drivers;"
                  " mount --bind $folder /run/drivers; mount -t tmpfs tmpfs $folder;"
                  " ln -s /run/drivers/* $folder; rm $folder/librte_net_af_packet*; done")
        subprocess.run([*prefix, "sh", "-e", "-c", script], check=True)
        refused(Host(work, prefix=prefix), on_port(work, "af_packet", "lo"),
                "DPDK's driver net_af_packet is not installed",
                "apt-get install librte-net-af-packet")


def test_port_missing():
    with evbtest.Workspace() as work:
        host = Host(work)
        refused(host, on_port(work, "af_packet", "evbnone0"),
                'port wire: there is no network interface "evbnone0" here', "`ip link`")
        refused(host, on_port(work, "mlx5", "ffff:1f:1f.7"),
                "port wire: there is no PCI device ffff:1f:1f.7", "dpdk-devbind.py --status")
        socket_path = work.path("memif.sock")
        refused(host, on_port(work, "memif", socket_path),
                f"there is no memif server at {socket_path}", "start the other side first")
        capture = work.path("none.pcap")
        refused(host, on_port(work, "pcap", capture), f"capture file {capture} is not there",
                "path of a pcap file")


def test_no_capability():
    with evbtest.Workspace() as work, network.Network() as net:
        os.chmod(work.directory, 0o755)
        failures = refused(Host(work, net.evb, NOBODY),
                           on_port(work, "af_packet", net.evb.device),
                           "driver net_af_packet needs CAP_NET_RAW", "run it as root, or: setcap")
        check(any("CAP_NET_ADMIN" in line for line in failures), f"failures {failures}")


def test_locked_memory():
    """A user with the capabilities, but little memory that may be locked; and that this is so."""
    with evbtest.Workspace() as work, network.Network() as net:
        os.chmod(work.directory, 0o755)
        rights = "+net_raw,+net_admin"
        limited = ("prlimit", "--memlock=4194304", *NOBODY, f"--inh-caps={rights}",
                   f"--ambient-caps={rights}")
        configuration = on_port(work, "af_packet", net.evb.device)
        refused(Host(work, net.evb, limited), configuration, "the ports lock ",
                "this process may lock 4 MiB", "ulimit -l unlimited")
        configuration["ports"][0]["options"] = {"framecnt": "256", "blocksz": "65536",
                                                "framesz": "2048"}
        host = Host(work, net.evb, limited)
        run = host.evb("run", host.file(configuration), "--duration", "0.2")
        check_equal(run.status, 0, f"status of {run.describe()}")


# --- interfaces: wrong, prepared, put back ------------------------------------------------------


def test_wrong_mtu():
    with evbtest.Workspace() as work, network.Network() as net:
        host = Host(work, net.evb, private_mounts(work))
        configuration = on_port(work, "af_packet", net.evb.device, mtu=9000)
        file, state = host.file(configuration), work.path("state.json")
        device = net.evb.device
        refused(host, configuration, f"mtu is 9000, that of interface {device} is 1500",
                f"ip link set dev {device} mtu 9000")
        check_equal(mtu(net.evb), 1500, "MTU before prepare")
        prepared = host.evb("host", "prepare", file, "--state", state)
        check_equal(prepared.status, 0, f"status of {prepared.describe()}")
        check(f"done  mtu {device}: 1500 to 9000" in prepared.lines, prepared.describe())
        check_equal(mtu(net.evb), 9000, "MTU after prepare")
        run = host.evb("run", file, "--duration", "0.2")
        check_equal(run.status, 0, f"status of {run.describe()}")
        with open(state, encoding="utf-8") as stream:
            changes = json.load(stream)["changes"]
        check_equal([(change["kind"], change["before"], change["after"]) for change in changes],
                    [("mtu", "1500", "9000")], "changes in the state file")
        restored = host.evb("host", "restore", "--state", state)
        check_equal(restored.status, 0, f"status of {restored.describe()}")
        check_equal(mtu(net.evb), 1500, "MTU after restore")
        check(not os.path.exists(state), "the state file is still there")


def test_interface_down():
    """It runs, after one line that tells; prepare takes it up, restore down again."""
    with evbtest.Workspace() as work, network.Network() as net:
        host = Host(work, net.evb, private_mounts(work))
        device = net.evb.device
        subprocess.run(["ip", "-n", net.evb.name, "link", "set", device, "down"], check=True)
        file, state = host.file(on_port(work, "af_packet", device)), work.path("state.json")
        run = host.evb("run", file, "--duration", "0.2")
        check_equal(run.status, 0, f"status of {run.describe()}")
        check_equal(run.errors(), f"evb: warning: port wire: interface {device} is down, nothing comes in: "
                                  f"as root: ip link set dev {device} up", "notices")
        for _ in range(2):  # twice is as good as once
            prepared = host.evb("host", "prepare", file, "--state", state)
            check_equal(prepared.status, 0, f"status of {prepared.describe()}")
        check(is_up(net.evb), "the interface is down after prepare")
        quiet_run = host.evb("run", file, "--duration", "0.2")
        check_equal((quiet_run.status, quiet_run.errors()), (0, ""), quiet_run.describe())
        restored = host.evb("host", "restore", "--state", state)
        check_equal(restored.status, 0, f"status of {restored.describe()}")
        check(not is_up(net.evb), "the interface is up after restore")


def test_restore_leaves_what_others_changed():
    with evbtest.Workspace() as work, network.Network() as net:
        host = Host(work, net.evb, private_mounts(work))
        device = net.evb.device
        file = host.file(on_port(work, "af_packet", device, mtu=4000))
        state = work.path("state.json")
        prepared = host.evb("host", "prepare", file, "--state", state)
        check_equal(prepared.status, 0, f"status of {prepared.describe()}")
        subprocess.run(["ip", "-n", net.evb.name, "link", "set", device, "mtu", "5000"],
                       check=True)
        restored = host.evb("host", "restore", "--state", state)
        check_equal(restored.status, 0, f"status of {restored.describe()}")
        check("is 5000 by now, left alone" in restored.output(), restored.describe())
        check_equal(mtu(net.evb), 5000, "MTU after restore")


def test_prepare_without_the_right():
    with evbtest.Workspace() as work, network.Network() as net:
        os.chmod(work.directory, 0o777)
        host = Host(work, net.evb, (*private_mounts(work), *NOBODY))
        file = host.file(on_port(work, "af_packet", net.evb.device, mtu=9000))
        prepared = host.evb("host", "prepare", file, "--state", work.path("state.json"))
        check_equal(prepared.status, 1, f"status of {prepared.describe()}")
        check(f"fail  mtu {net.evb.device}: 1500 to 9000: Operation not permitted"
              in prepared.lines, prepared.describe())
        elsewhere = host.evb("host", "prepare", file, "--state", "/run/evb/state.json")
        check_equal(elsewhere.status, 1, f"status of {elsewhere.describe()}")
        check("/run/evb cannot be made" in elsewhere.errors(), elsewhere.describe())


def test_nothing_is_changed_without_prepare():
    """Neither check nor run touches what is wrong."""
    with evbtest.Workspace() as work, network.Network() as net:
        prefix = private_mounts(work)
        host = Host(work, net.evb, prefix)
        before = work.start(*prefix, "ls", "-R", "/run").finish().output()
        subprocess.run(["ip", "-n", net.evb.name, "link", "set", net.evb.device, "down"],
                       check=True)
        file = host.file(on_port(work, "af_packet", net.evb.device, mtu=9000))
        for arguments in (("host", "check", file), ("run", file)):
            check_equal(host.evb(*arguments).status, 1, f"status of {arguments}")
        check_equal((mtu(net.evb), is_up(net.evb)), (1500, False), "MTU, up")
        after = work.start(*prefix, "ls", "-R", "/run").finish().output()
        check_equal(after, before, "files in /run")


if __name__ == "__main__":
    for tool in ("setpriv", "prlimit", "nsenter", "unshare", "taskset"):
        if shutil.which(tool) is None:
            print(f"skip: {tool} is not installed")
            raise SystemExit(evbtest.EXIT_SKIP)
    evbtest.main()
