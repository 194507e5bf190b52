# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The configurations that are shipped: each passes `evb check`, and the schema."""

import glob
import json
import os

import evbtest
from evbtest import check, check_equal

CONFIGS = os.path.join(evbtest.REPOSITORY, "configs")
SCHEMA = os.path.join(CONFIGS, "schema.json")


def shipped():
    files = sorted(glob.glob(os.path.join(CONFIGS, "*.json")))
    files.remove(SCHEMA)
    check(files, f"no configurations in {CONFIGS}")
    return files


def load(file):
    with open(file, encoding="utf-8") as stream:
        return json.load(stream)


def test_check():
    """Each is accepted, under a name of its own, by a plan that names all its roles."""
    names = set()
    with evbtest.Workspace() as work:
        for file in shipped():
            result = work.evb("check", file)
            check_equal(result.status, 0, result.describe())
            configuration = load(file)
            name = configuration.get("name", "evb")
            check_equal(result.lines[0], f"appliance {name}, run 1: {file}", "first line")
            check(name not in names, f"{file}: {name} is the name of another one")
            names.add(name)
            roles = {role for line in result.lines if line.startswith("  CPU")
                     for role in line.split()[2:]}
            for kind, key in (("builder", "builders"), ("source", "generators"),
                              ("writer", "writers")):
                expected = {f"{kind}.{object['name']}" for object in configuration.get(key, [])}
                check_equal({role for role in roles if role.startswith(kind + ".")}, expected,
                            f"{file}: {key} in the plan")


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
