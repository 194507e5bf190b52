#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Writes the tables of docs/metrics.md and docs/configuration.md, and configs/schema.json, from the
tables that evb was built from.

usage: tables.py [--check] CONFIG_DUMP METRICS_DUMP

With --check it writes nothing and fails if one of them is out of date.
"""

import itertools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXACT_MAXIMUM = 2 ** 53 - 1  # of a JSON number

# --- metrics -------------------------------------------------------------------------------------


def capital(text):
    return text[0].upper() + text[1:]


def suffix_of(metric):
    if metric["causes"]:
        return "_CAUSE"
    return "_QUANTILE" if metric["type"] == "histogram" else ""


def metric_names(prefix, metric, is_thing):
    """The key, and the name in OpenMetrics if that is not the prefix and the key."""
    key, name = metric["key"], metric["name"]
    total = "_total" if metric["type"] == "counter" else ""
    if metric["hidden"]:
        return f"(`{key}{suffix_of(metric)}`)"
    if is_thing:
        return f"`{key}`"
    if metric["label"]:
        return f"`{key}`, a label"
    if metric["info"]:
        return f"`{{{key}}}`"
    if metric["causes"]:
        return f"`{key}_CAUSE`"
    if metric["words"]:
        return f"`{key}`, `{name}{{{name}}}`"
    if metric["type"] == "histogram":
        return f"`{key}_QUANTILE`, histogram `{name}`, `{metric['maximum']}`"
    if name != f"{prefix}_{key}":
        return f"`{key}`, `{name}{total}`"
    return f"`{key}[{total}]`" if total else f"`{key}`"


def described_in(places, place, metric):
    """(title, prefix) of the earlier section that describes the same metric, where its key may have
    a prefix; or None."""
    for other in places[:places.index(place)]:
        for same in other["metrics"]:
            prefix, found, rest = same["key"].rpartition(metric["key"])
            if (found and not rest and same["help"] == metric["help"]
                    and (not prefix or prefix.endswith("_"))
                    and (metric["hidden"] or not same["hidden"])):
                return capital(other["title"]), prefix
    return None


def key_text(metric):
    return f"`{metric['key']}{suffix_of(metric)}`"


def key_list(metrics, described):
    """Keys of metrics; three or more that follow each other among those described, as a range."""
    keys = [metric["key"] for metric in described]
    runs = []
    for metric in metrics:
        at = keys.index(metric["key"]) if metric["key"] in keys else -1
        if runs and at > 0 and keys[at - 1] == runs[-1][-1]["key"]:
            runs[-1].append(metric)
        else:
            runs.append([metric])
    return ", ".join(f"{key_text(run[0])} to {key_text(run[-1])}" if len(run) > 2
                     else ", ".join(map(key_text, run)) for run in runs)


def is_named_plainly(metric):
    return re.fullmatch(r"(name|number|id) of (the|a) [\w ]+", metric["help"]) is not None


def without_number(metric):
    """The metric with N in the place of a number that key and meaning have, and that number."""
    number = re.search(r"\d+", metric["key"])
    if not number or number[0] not in metric["help"]:
        return metric, None
    return {what: text.replace(number[0], "N") if isinstance(text, str) else text
            for what, text in metric.items()}, number[0]


def joined(metrics):
    """Metrics that differ in a number, such as x_250 and x_500, as one: x_N."""
    joint = []
    for (is_thing, same), members in itertools.groupby(
            metrics, lambda one: (one[0], without_number(one[1])[0])):
        members = [metric for _, metric in members]
        if len(members) > 1:
            numbers = ", ".join(without_number(metric)[1] for metric in members)
            members = [same | {"help": f"{same['help']}; N: {numbers}"}]
        joint += [(is_thing, metric) for metric in members]
    return joint


def metric_rows(prefix, metrics):
    """A row for each metric, or one for packets and their bytes, segments and their payload."""
    rows = []
    for is_thing, metric in joined(metrics):
        names, text = metric_names(prefix, metric, is_thing), metric["help"]
        size = rows and re.fullmatch(
            rf"(bytes|payload) of (?:the )?{re.escape(rows[-1][1])}(?:, (.*))?", text)
        if size:
            names, text = f"{rows[-1][0]}, {names}", rows.pop()[1]
            if size[1] == "payload":
                text += "; their payload"
            elif size[2]:
                text += f"; bytes {size[2]}"
        rows.append((names, text))
    return [f"| {names} | {text} |\n" for names, text in rows]


def metric_table(places, place):
    """A row for each metric that no earlier section describes, and the keys of the others."""
    own, others = [], {}
    for i, metric in enumerate(place["metrics"]):
        is_thing = i == 0 and not place["whole"]
        section = None if is_thing else described_in(places, place, metric)
        if section:
            others.setdefault(section, []).append(metric)
        elif not (is_thing and is_named_plainly(metric)):
            own.append((is_thing, metric))
    parts = []
    if own:
        rows = metric_rows(place["prefix"], own)
        parts.append("| key | meaning |\n|---|---|\n" + "".join(rows))
    titles = {capital(other["title"]): other["metrics"] for other in reversed(places)}
    lines = [f'As{f" `{prefix}...`" if prefix else ""} in "{title}":'
             f" {key_list(metrics, titles[title])}."
             for (title, prefix), metrics in others.items()]
    if lines:
        parts.append("\n".join(lines) + "\n")
    return parts


def metrics_page(places):
    parts = []
    for place in places:
        prefix, first = place["prefix"], place["metrics"][0]
        key = first["key"] if is_named_plainly(first) and first["key"] != "name" else ""
        if place["whole"]:
            parts.append(f"## `{place['title']}`\n")
            parts.append(place["help"] + "."
                         + ("" if place["hidden"] else f" Prefix `{prefix}_`.") + "\n")
        elif place["nested"]:
            name = place["name"].rpartition("/")[2]
            key = f" (key `{key}`)" if key else ""
            parts.append(f"Each of `{name}_0`, `{name}_1`, ...{key} has\n")
        else:
            parts.append(f"## {capital(place['title'])}\n")
            key = f", key `{key}`" if key else ""
            parts.append(f"`/evb/{place['name']}/...`{key}.\n")
            if prefix != f"evb_{place['name']}":
                sys.exit(f"{place['name']} has the prefix {prefix}")
        parts += metric_table(places, place)
        if place["note"]:
            parts.append(place["note"] + "\n")
    return "\n".join(parts)


# --- configuration -------------------------------------------------------------------------------

FIXED_TYPES = {
    "BOOLEAN": "boolean", "TEXT": "string", "IPV4": "IPv4 address", "IPV6": "IPv6 address",
    "IP": "IPv4 or IPv6 address", "MAC": "Ethernet address", "IDS": "list of source ids",
    "ID_RANGES": "list of source ids", "OWN_IDS": "list of source ids",
    "EXPECTED": "list of source ids", "OBJECT": "object",
    "IGNORED": "string",
}


def list_of(what, key):
    least = f"{key['minimum']} to" if key["minimum"] else "up to"
    return f"list of {least} {key['maximum']} {what}"


def value_text(key):
    kind = key["type"]
    if kind in FIXED_TYPES:
        return FIXED_TYPES[kind] + (" with prefix" if key["prefix"] else "")
    if kind in ("WHOLE", "REAL"):
        is_real = kind == "REAL" and "units" not in key
        return (("`auto`, or " if key["or_auto"] else "") + ("number " if is_real else "")
                + f"{key['lowest']}..{key['highest']}"
                + (", power of two" if key["power_of_two"] else ""))
    if kind == "WORD":
        return ", ".join(f"`{word}`" for word in key["words"])
    if kind == "NAME":
        return f"name({key['maximum']})"
    if kind == "OPTIONS":
        return f"object of up to {key['maximum']} strings or whole numbers"
    if kind in ("NAMES", "ROLES", "ADDRESSES"):
        return list_of(kind.lower(), key)
    return ("`auto`, or " if kind == "LIST_OR_AUTO" else "") + list_of("objects", key)


def key_row(key):
    value = value_text(key)
    if key["required"]:
        value += ", required" + (f" without `{key['unless']}`" if "unless" in key else "")
    elif key.get("standard"):
        value += f" (`{key['standard']}`)"
    mark = "\\*" if key["between_runs"] else ""
    return f"| `{key['name']}`{mark} | {value} | {key['help']} |\n"


def configuration_page(keys, path=""):
    page = f"\n## `{path}`\n" if path else "## The file\n"
    page += "\n| key | value (default) | meaning |\n|---|---|---|\n"
    page += "".join(key_row(key) for key in keys if not key["as_root"])
    replaced = ", ".join(f"`{key['name']}`" for key in keys if key["as_root"])
    if replaced:
        page += f"\nA node may replace {replaced} of the file.\n"
    for key in keys:
        if ("keys" in key and key["type"] != "OWN_IDS" and not key["as_root"]
                and not key["partial"]):
            name = key["name"] + ("" if key["type"] == "OBJECT" else "[]")
            page += configuration_page(key["keys"], f"{path}.{name}" if path else name)
    return page


# --- JSON Schema (draft 2020-12) -----------------------------------------------------------------

COUNT = "([0-9]+|0[xX][0-9A-Fa-f]+)"
OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = OCTET + rf"(\.{OCTET}){{3}}"
IPV6 = "[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*"  # also matches some invalid addresses
AUTO = {"const": "auto"}
NAME = "A-Za-z0-9_-"
NAME_MAXIMUM, TEXT_MAXIMUM = 31, 255  # EVB_NAME_SIZE and EVB_PATH_SIZE, without the closing 0


def matching(pattern):
    return {"type": "string", "pattern": f"^{pattern}$"}


def number(kind, minimum, maximum):
    return {"type": kind, "minimum": minimum, "maximum": min(maximum, EXACT_MAXIMUM)}


def name_of(alphabet, maximum):
    return matching(f"[{alphabet}]{{1,{maximum}}}")


def text_of(minimum, maximum):
    least = {"minLength": minimum} if minimum else {}
    return matching(r"[^\u0000-\u001f\u007f]*") | least | {"maxLength": maximum}


def array(items, key, limited=True):
    return ({"type": "array", "items": items}
            | ({"minItems": key["minimum"]} if key["minimum"] else {})
            | ({"maxItems": key["maximum"]} if limited else {}))


def number_schema(key):
    kind = "integer" if key["type"] == "WHOLE" else "number"
    plain = number(kind, min(key["minimum"], EXACT_MAXIMUM), key["maximum"])
    if key["power_of_two"]:
        powers = (2 ** i for i in range(64))
        plain = {"enum": [power for power in powers if key["minimum"] <= power <= key["maximum"]]}
    if kind == "number" and "units" not in key:
        return plain
    quantity = COUNT
    if "units" in key:
        quantity = rf"[0-9]+(\.[0-9]+)?( ?({'|'.join(key['units'])}))?"
    return {"anyOf": ([AUTO] if key["or_auto"] else []) + [plain, matching(quantity)]}


def ids_schema(key):
    one = {"anyOf": [number("integer", 0, 65535), matching(f"{COUNT}(-{COUNT})?")]}
    ids = array(one, key, limited=False)
    return {"anyOf": [ids, object_schema(key["keys"])]} if key["type"] == "OWN_IDS" else ids


def options_schema(key):
    value = [text_of(0, TEXT_MAXIMUM), number("integer", -EXACT_MAXIMUM, EXACT_MAXIMUM)]
    return {"type": "object", "maxProperties": key["maximum"],
            "propertyNames": name_of(NAME, NAME_MAXIMUM), "additionalProperties": {"anyOf": value}}


def value_schema(key):
    kind = key["type"]
    if kind in ("WHOLE", "REAL"):
        return number_schema(key)
    if kind in ("IDS", "ID_RANGES", "OWN_IDS", "EXPECTED"):
        return ids_schema(key)
    if kind == "ADDRESSES":
        return array(matching(f"({IPV4}(/[0-9]{{1,2}})?|{IPV6}(/[0-9]{{1,3}})?)"), key)
    if kind in ("NAMES", "ROLES"):
        alphabet = NAME if kind == "NAMES" else "A-Za-z0-9_.-"
        return array(name_of(alphabet, NAME_MAXIMUM), key) | {"uniqueItems": True}
    if kind in ("LIST", "NODES"):
        return array(object_schema(key["keys"]), key)
    if kind == "LIST_OR_AUTO":
        return {"anyOf": [AUTO, array(object_schema(key["keys"]), key)]}
    if kind == "OBJECT":
        return object_schema(key["keys"], key["partial"])
    if kind == "OPTIONS":
        return options_schema(key)
    return {
        "BOOLEAN": {"type": "boolean"},
        "WORD": {"enum": key.get("words")},
        "NAME": name_of(NAME, key["maximum"]),
        "TEXT": text_of(key["minimum"], key["maximum"]),
        "IPV4": matching(IPV4 + ("(/(3[0-2]|[12]?[0-9]))?" if key["prefix"] else "")),
        "IPV6": matching(IPV6),
        "IP": matching(f"({IPV4}|{IPV6})"),
        "MAC": matching("[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}"),
        "IGNORED": {"type": "string"},
    }[kind]


def standard_of(text):
    """The value that the parser reads: JSON, or a bare string."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    is_exact = not isinstance(value, (int, float)) or abs(value) <= EXACT_MAXIMUM
    return value if is_exact else text


def key_schema(key):
    if key["as_root"]:
        return {"$ref": f"#/properties/{key['name']}"}
    schema = value_schema(key) | {"description": key["help"]}
    if key["between_runs"]:
        schema["$comment"] = "may change between two runs"
    return schema | ({"default": standard_of(key["standard"])} if "standard" in key else {})


def object_schema(keys, is_partial=False):
    schema = {"type": "object",
              "properties": {key["name"]: key_schema(key) for key in keys}}
    if is_partial:
        for key in schema["properties"].values():
            key.pop("default", None)
        return schema | {"additionalProperties": False}
    for key in keys:
        if key["required"] and "unless" in key:
            schema["anyOf"] = [{"required": [key["name"]]}, {"required": [key["unless"]]}]
        if "needs" in key:
            schema["dependentRequired"] = {key["name"]: [key["needs"]]}
    required = [key["name"] for key in keys if key["required"] and "unless" not in key]
    if required:
        schema["required"] = required
    return schema | {"additionalProperties": False}


def lay_out(value, depth=0):
    """JSON with lists in one line."""
    if isinstance(value, list):
        return "[" + ", ".join(lay_out(item, depth + 1) for item in value) + "]"
    if not isinstance(value, dict):
        return json.dumps(value)
    indent = "    " * depth
    members = (f"{indent}    {json.dumps(name)}: {lay_out(item, depth + 1)}"
               for name, item in value.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


def schema_file(keys):
    return lay_out({"$schema": "https://json-schema.org/draft/2020-12/schema",
                    "title": "Configuration of an evb appliance"} | object_schema(keys)) + "\n"


# --- files ---------------------------------------------------------------------------------------


def tables(*command):
    return json.loads(subprocess.check_output(command))


def main():
    *options, config_dump, metrics_dump = sys.argv[1:]
    keys, places = tables(config_dump, "keys"), tables(metrics_dump)
    outdated = []
    for name, begin, text in (
            ("configs/schema.json", "{", schema_file(keys)),
            ("docs/configuration.md", "## The file\n", configuration_page(keys)),
            ("docs/metrics.md", "## `/evb/info`\n", metrics_page(places))):
        old = (ROOT / name).read_text(encoding="utf-8")
        new = old[:old.index(begin)] + text
        if old != new:
            outdated.append(name)
            if "--check" not in options:
                (ROOT / name).write_text(new, encoding="utf-8")
    if outdated:
        print("out of date:" if "--check" in options else "written:", *outdated)
    return 1 if outdated and "--check" in options else 0


if __name__ == "__main__":
    sys.exit(main())
