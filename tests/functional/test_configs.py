# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The configurations that are shipped: each passes `evb check`, and the schema."""

import glob
import json
import os
import re

import evbtest
from evbtest import check, check_equal

CONFIGS = os.path.join(evbtest.REPOSITORY, "configs")
FEW_NODES = 64
SCHEMA = os.path.join(CONFIGS, "schema.json")


def shipped():
    files = sorted(glob.glob(os.path.join(CONFIGS, "*.json"))
                   + glob.glob(os.path.join(CONFIGS, "sim", "*.json")))
    files.remove(SCHEMA)
    check(files, f"no configurations in {CONFIGS}")
    return files


def load(file):
    with open(file, encoding="utf-8") as stream:
        return json.load(stream)


def check_plan(work, file, arguments, name, keys, kinds):
    """`evb check` accepts it, by a plan under that name that has the roles of its keys."""
    result = work.evb("check", file, *arguments)
    if "cluster nodes cannot run yet" in result.describe():
        evbtest.skip("nodes of a system cannot run yet")
    check_equal(result.status, 0, result.describe())
    check_equal(result.lines[0], f"appliance {name}, run 1: {file}", "first line")
    roles = {role for line in result.lines if line.startswith("  CPU")
             for role in line.split()[2:]}
    for kind, key in kinds:
        expected = {f"{kind}.{object['name']}" for object in keys.get(key, [])}
        check_equal({role for role in roles if role.startswith(kind + ".")}, expected,
                    f"{file}: {key} in the plan")


def test_check():
    """Each is accepted, under a name of its own, by a plan that names all its roles."""
    names = set()
    kinds = (("builder", "builders"), ("source", "generators"), ("writer", "writers"))
    with evbtest.Workspace() as work:
        for file in shipped():
            configuration = load(file)
            name = configuration.get("name", "evb")
            check(name not in names, f"{file}: {name} is the name of another one")
            names.add(name)
            if "nodes" not in configuration:
                check_plan(work, file, (), name, configuration, kinds)


def kind_of(node):
    """What a node has besides numbers, equal for all nodes of a kind."""
    return re.sub(r"[0-9]+", "", json.dumps(node, sort_keys=True))


def checked(nodes):
    """The nodes that are checked: all, but of hundreds the first and the last one of each kind."""
    if len(nodes) <= FEW_NODES:
        return nodes
    ends = {}
    for node in nodes:
        ends.setdefault(kind_of(node), [node, node])[1] = node
    return [node for first_and_last in ends.values() for node in first_and_last]


def test_check_nodes():
    """So is each node of a system, and all of them where none is named."""
    kinds = (("builder", "builders"), ("readout", "generators"), ("writer", "writers"))
    with evbtest.Workspace() as work:
        for file in shipped():
            configuration = load(file)
            nodes = configuration.get("nodes", [])
            for node in checked(nodes):
                check_plan(work, file, ("--node", node["name"]),
                           f"{configuration['name']}-{node['name']}",
                           {**configuration, **node}, kinds)
            if 0 < len(nodes) <= FEW_NODES:
                result = work.evb("check", file)
                check_equal(result.status, 0, result.describe())
                for node in (nodes[0], nodes[-1]):
                    check(f"\n  {node['name']:12} roles " in result.output(), result.describe())


def test_schema():
    try:
        import jsonschema
    except ImportError:
        evbtest.skip("python3-jsonschema is not there")
    validator = jsonschema.Draft202012Validator(load(SCHEMA))
    for file in shipped():
        errors = [f"{'/'.join(map(str, error.path))}: {error.message}"
                  for error in validator.iter_errors(load(file))]
        check_equal(errors, [], file)


if __name__ == "__main__":
    evbtest.main()
