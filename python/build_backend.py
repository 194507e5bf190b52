# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Makes the wheel for `pip install ./python`, by the standard library alone.

pip builds packages in an environment of its own, for which it fetches setuptools from the network
even if it is installed. A wheel of Python files is no more than a zip file with three lists, so that
evb needs neither. Formats: PEP 427, PEP 517, PEP 621.
"""

import base64
import glob
import hashlib
import os
import tomllib
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TAG = "py3-none-any"


def _metadata(project):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}",
             f"Requires-Python: {project['requires-python']}",
             f"License: {project['license']['text']}"]
    for extra, needed in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {one}; extra == '{extra}'" for one in needed]
    return "\n".join(lines) + "\n"


def _contents(project, info):
    """{path in the wheel: bytes}"""
    contents = {}
    for path in sorted(glob.glob(os.path.join(HERE, project["name"], "*.py"))):
        with open(path, "rb") as file:
            contents[os.path.relpath(path, HERE)] = file.read()
    contents[f"{info}/METADATA"] = _metadata(project).encode()
    contents[f"{info}/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: evb\nRoot-Is-Purelib: true\n"
                                 f"Tag: {TAG}\n").encode()
    return contents


def _record_line(path, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The hook of PEP 517: writes the wheel, and returns its name."""
    with open(os.path.join(HERE, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    stem = f"{project['name']}-{project['version']}"
    record, name = f"{stem}.dist-info/RECORD", f"{stem}-{TAG}.whl"
    contents = _contents(project, f"{stem}.dist-info")
    lines = [_record_line(path, data) for path, data in contents.items()]
    contents[record] = "".join([*lines, f"{record},,\n"]).encode()
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in contents.items():
            wheel.writestr(path, data)
    return name
