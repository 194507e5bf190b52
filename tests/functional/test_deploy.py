# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The files of configs/deploy/ for containers: they are what compose and Kubernetes take, agree with
the system files that they bring, ask for the rights and memory that these need, and the systems run
with just those rights."""

import copy
import json
import os
import re
import shutil
import subprocess

import evbtest
import network
from evbtest import check, check_equal

DEPLOY = os.path.join(evbtest.REPOSITORY, "configs", "deploy")
COMPOSE = os.path.join(DEPLOY, "compose", "compose.yaml")
KUBERNETES = os.path.join(DEPLOY, "kubernetes")
CHECKER = os.path.join(evbtest.REPOSITORY, "tests", "functional", "deploy")
EVENTS = 200


# --- the files ---------------------------------------------------------------------------------


def documents(path):
    try:
        import yaml
    except ImportError:
        evbtest.skip("needs python3-yaml")
    with open(path, encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def manifests():
    """{(kind, name): manifest} of all of configs/deploy/kubernetes."""
    found = {}
    for name in sorted(os.listdir(KUBERNETES)):
        for document in documents(os.path.join(KUBERNETES, name)):
            key = document["kind"], document["metadata"]["name"]
            check(key not in found, f"{key} is there twice")
            found[key] = document
    return found


def compose():
    """The services by name, and the system that their containers read."""
    file, = documents(COMPOSE)
    with open(os.path.join(DEPLOY, "compose", "system.json"), encoding="utf-8") as text:
        return file, json.load(text)


def pod():
    """Of Kubernetes: the StatefulSet, its only container, and the system that its pods read."""
    found = manifests()
    nodes = found["StatefulSet", "evb"]
    container, = nodes["spec"]["template"]["spec"]["containers"]
    return nodes, container, json.loads(found["ConfigMap", "evb-system"]["data"]["system.json"])


# --- what they must agree with -----------------------------------------------------------------


def profile_capabilities(system):
    """What the drivers of a system's ports need, without "CAP_"."""
    names = set()
    for node in system["nodes"]:
        for port in node["ports"]:
            path = os.path.join(evbtest.REPOSITORY, "pmd-config", f"{port['profile']}.json")
            with open(path, encoding="utf-8") as file:
                names.update(name[len("CAP_"):] for name in json.load(file)["capabilities"])
    return names


def plan_of(work, system, node):
    process = work.evb("check", work.write("checked.json", system), "--node", node)
    check_equal(process.status, 0, process.describe())
    return process.output()


def mebibytes(plan, pattern):
    amount, unit = re.search(pattern + r" ([\d.]+) ([KMG])iB", plan).groups()
    return float(amount) * {"K": 1 / 1024, "M": 1, "G": 1024}[unit]


def quantity(text):
    """Of Kubernetes or compose, in MiB."""
    number, unit = re.fullmatch(r"(\d+)([MGmg])i?", text).groups()
    return int(number) * {"M": 1, "G": 1024}[unit.upper()]


def addresses(system):
    return {node["name"]: node["ports"][0]["address"].split("/")[0] for node in system["nodes"]}


def judge(*arguments):
    if not shutil.which("node"):
        evbtest.skip("needs node and npm, of Debian's packages of these names")
    if not os.path.isdir(os.path.join(CHECKER, "node_modules")):
        evbtest.skip("needs the schemas: ./dev test functional deploy fetches them")
    return subprocess.run(["node", os.path.join(CHECKER, "check.js"), *arguments],
                          capture_output=True, text=True, check=False)


# --- a system in namespaces --------------------------------------------------------------------


class Containers:
    """The nodes of a system as containers would run them: each in a network namespace of its own
    with the interface of its port, as root with only these capabilities."""

    def __init__(self, work, system, capabilities, kernel_addresses=None, rate=0):
        # All the nodes are on this machine, which may have hugepages, but for others.
        self.system = {**copy.deepcopy(system), "name": work.name(), "memory": {"kind": "shm"}}
        for node in self.system["nodes"]:
            for generator in node["generators"]:
                generator.update({"events": EVENTS, "rate": rate})
        self.file = work.write("system.json", self.system)
        self._work = work
        self._capabilities = ",".join(f"+{name.lower()}" for name in sorted(capabilities))
        bridge = network.Bridge({node["name"]: (node["ports"][0]["device"], node["ports"][0]["mtu"])
                                 for node in system["nodes"]})
        self.namespaces = work.enter(bridge).nodes
        for node, address in (kernel_addresses or {}).items():
            namespace = self.namespaces[node]
            subprocess.run(["ip", "-n", namespace.name, "address", "add", f"{address}/24", "dev",
                            namespace.device], check=True)
        self.processes = {}

    def command(self, node, arguments):
        """Starts a container's command line, its `evb` and its path of the system replaced."""
        summary = self._work.path(f"summary-{node}.json")
        limits = f"-all,{self._capabilities}"
        self.processes[node] = self._work.start(
            "setpriv", "--bounding-set", limits, "--inh-caps", limits, evbtest.binary(),
            *[self.file if argument.endswith("/system.json") else argument
              for argument in arguments],
            "--summary", summary, namespace=self.namespaces[node], summary=summary,
            name=f"{self.system['name']}-{node}")
        return self.processes[node]

    def check_end(self):
        """All nodes end by themselves, with all events built, each once."""
        complete = {}
        for node, process in self.processes.items():
            summary = process.end(timeout=120)
            complete[node] = summary["events"]["complete"]
            check_equal(summary["losses"], False, f"losses of {node}: {json.dumps(summary)}")
            lines = [json.loads(line) for line in process.errors().splitlines()]
            check_equal([line["message"] for line in lines if line["level"] == "info"],
                        ["running", "ended"], f"what {node} said")
            check_equal({line["node"] for line in lines}, {node}, "names of the node")
        check_equal(sum(complete.values()), EVENTS, f"events built {complete}")
        check(all(complete.values()), f"a node built nothing: {complete}")


def needs_for_run():
    evbtest.need_root()
    if not shutil.which("setpriv"):
        evbtest.skip("needs setpriv")


# --- the tests ---------------------------------------------------------------------------------


def test_compose_schema():
    result = judge("compose", COMPOSE)
    check_equal(result.returncode, 0, result.stdout + result.stderr)


def test_kubernetes_schema():
    names = sorted(os.listdir(KUBERNETES))
    result = judge("kubernetes", *(os.path.join(KUBERNETES, name) for name in names))
    check_equal(result.returncode, 0, result.stdout + result.stderr)
    print(result.stdout.replace(KUBERNETES + "/", ""), end="")


def test_schema_finds_mistakes():
    """Wrong types, unknown fields and kinds do not pass."""
    with evbtest.Workspace() as work:
        with open(os.path.join(KUBERNETES, "20-nodes.yaml"), encoding="utf-8") as file:
            good = file.read()
        for old, new in (("periodSeconds: 5", "periodSeconds: five"), ("drop: [ALL]", "drp: [ALL]"),
                         ("emptyDir:", "emptyDirs:"), ("kind: StatefulSet", "kind: StatelessSet")):
            check(old in good, f"{old} is not in 20-nodes.yaml")
            result = judge("kubernetes", work.write("bad.yaml", good.replace(old, new)))
            check_equal(result.returncode, 1, f"{new}: {result.stdout}{result.stderr}")
        with open(COMPOSE, encoding="utf-8") as file:
            bad = work.write("bad.yaml", file.read().replace("cap_drop", "cap_dorp"))
        check_equal(judge("compose", bad).returncode, 1, "status for an unknown key of compose")


def test_compose_agrees():
    file, system = compose()
    services = file["services"]
    subnet, = file["networks"]["events"]["ipam"]["config"]
    check_equal(sorted(services), sorted(addresses(system)), "services and nodes")
    of_containers = [service["networks"]["events"]["ipv4_address"] for service in services.values()]
    taken = [*of_containers, *addresses(system).values(), subnet["gateway"]]
    check_equal(len(set(taken)), len(taken), f"each address is there once: {taken}")
    base = subnet["subnet"].rsplit(".", 1)[0] + "."
    check(all(address.startswith(base) for address in taken), f"not all are in {subnet}: {taken}")
    with evbtest.Workspace() as work:
        for name, service in services.items():
            check_equal(set(service["cap_add"]), profile_capabilities(system), f"rights of {name}")
            check_equal(service["cap_drop"], ["ALL"], f"rights taken from {name}")
            check_equal(service["command"][:4], ["run", "/etc/evb/system.json", "--node", name],
                        f"command of {name}")
            plan = plan_of(work, system, name)
            wanted = mebibytes(plan, r"\bpackets ") + mebibytes(plan, r"\bslots   ")
            check(quantity(service["shm_size"]) >= wanted, f"{name} needs {wanted} MiB")


def test_kubernetes_agrees():
    nodes, container, system = pod()
    spec = nodes["spec"]
    names = [f"{nodes['metadata']['name']}-{index}" for index in range(spec["replicas"])]
    check_equal(names, [node["name"] for node in system["nodes"]], "pods and nodes")
    labels = spec["template"]["metadata"]["labels"]
    check(spec["selector"]["matchLabels"].items() <= labels.items(), "the selector's labels")
    found = manifests()
    check(("Service", spec["serviceName"]) in found, "the service of the StatefulSet")
    annotations = spec["template"]["metadata"]["annotations"]
    attachment = annotations["k8s.v1.cni.cncf.io/networks"]
    resource = found["NetworkAttachmentDefinition", attachment]["metadata"]["annotations"][
        "k8s.v1.cni.cncf.io/resourceName"]
    requests, limits = (container["resources"][key] for key in ("requests", "limits"))
    check_equal(requests, limits, "requests and limits, for Guaranteed pods")
    check(requests["cpu"].isdigit(), "whole CPUs, for the static CPU manager")
    check_equal(requests[resource], "1", f"{resource}, of the network's attachment")
    plugin = json.loads(found["ConfigMap", "sriovdp-config"]["data"]["config.json"])
    check_equal(["/".join((entry["resourcePrefix"], entry["resourceName"]))
                 for entry in plugin["resourceList"]], [resource], "resources of the device plugin")
    rights = container["securityContext"]
    check_equal(set(rights["capabilities"]["add"]), profile_capabilities(system) | {"SYS_NICE"},
                "capabilities")
    check_equal(rights["capabilities"]["drop"], ["ALL"], "capabilities taken away")
    volumes = {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    check_equal({mount["name"] for mount in container["volumeMounts"]}, volumes, "volumes mounted")
    with evbtest.Workspace() as work:
        for name in names:
            plan = plan_of(work, system, name)
            wanted = mebibytes(plan, "hugepages wanted")
            check(quantity(requests["hugepages-2Mi"]) >= wanted, f"{name} needs {wanted} MiB")


def test_page_lists_the_rights_of_each_driver():
    """docs/container.md has just the capabilities that the driver profiles name."""
    with open(os.path.join(evbtest.REPOSITORY, "docs", "container.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (`.*?) \| (.*) \|$", file.read(), re.MULTILINE)
    folder = os.path.join(evbtest.REPOSITORY, "pmd-config")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            names = json.load(file).get("capabilities", ())
        wanted = {capability[len("CAP_"):] for capability in names}
        listed = [options for profiles, options in rows if f"`{name[:-len('.json')]}`" in profiles]
        check_equal(len(listed), 1, f"rows of docs/container.md for {name}")
        check_equal(set(re.findall(r"--cap-add (\w+)", listed[0])), wanted, f"rights of {name}")


def test_compose_runs():
    needs_for_run()
    file, system = compose()
    services = file["services"]
    with evbtest.Workspace() as work:
        rights = {name for service in services.values() for name in service["cap_add"]}
        containers = Containers(work, system, rights, {
            name: service["networks"]["events"]["ipv4_address"]
            for name, service in services.items()})
        for name, service in services.items():
            containers.command(name, service["command"])
        containers.check_end()


def test_kubernetes_runs():
    """With the probes: not ready before it runs, ready and alive then."""
    needs_for_run()
    _, container, system = pod()
    with evbtest.Workspace() as work:
        # So slow that it can be seen running.
        containers = Containers(
            work, system, set(container["securityContext"]["capabilities"]["add"]), rate=50)
        os.symlink(evbtest.binary(), os.path.join(work.folder("bin"), "evb"))
        names = list(containers.namespaces)

        def probe(kind, name):
            command = [argument.replace("/etc/evb/system/system.json", containers.file)
                       for argument in container[kind]["exec"]["command"]]
            if command[:2] == ["evb", "stat"]:
                command[2:2] = ["--name", f"{containers.system['name']}-{name}"]
            return work.start(*command, environment={
                "PATH": f"{work.path('bin')}:{os.environ['PATH']}", "POD_NAME": name}).finish()

        check(probe("readinessProbe", names[0]).status != 0, "ready before the start")
        check(probe("livenessProbe", names[0]).status != 0, "alive before the start")
        arguments = container["args"]
        for name in names[1:]:
            containers.command(name, [name if argument == "$(POD_NAME)" else argument
                                      for argument in arguments])
        waiting = containers.processes[names[1]]
        waiting.wait_until(lambda: probe("livenessProbe", names[1]).status == 0, "alive")
        check(probe("readinessProbe", names[1]).status != 0, "ready before there is a manager")
        containers.command(names[0], [names[0] if argument == "$(POD_NAME)" else argument
                                      for argument in arguments])
        for name in names:
            containers.processes[name].wait_until(
                lambda name=name: probe("readinessProbe", name).status == 0, f"{name} is ready")
        containers.check_end()


if __name__ == "__main__":
    evbtest.main()
