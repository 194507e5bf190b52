// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Writes the manual's page of all keys, in Markdown.
#include <stdio.h>
#include <string.h>

#include "config/internal.h"

static const char preface[] =
    "# Configuration\n"
    "\n"
    "One JSON file (RFC 8259, no comments, at most 16 MiB) configures one appliance, or all nodes "
    "of a\n"
    "system. `evb check FILE` validates it and prints the plan that follows from it.\n"
    "`configs/schema.json` is its JSON Schema, for editors and other programs. This page is "
    "generated\n"
    "from the tables of the parser.\n"
    "\n"
    "An error is one line with the file, the key and the reason:\n"
    "`configs/x.json: builders[0].slots: 0 is out of range 1..65536`. Unknown keys are errors.\n"
    "\n"
    "`--set PATH=VALUE` overrides a key: `--set builders[0].slots=16`, `--set transport.kind=eth`. "
    "VALUE\n"
    "is JSON, or else a string. Missing objects of the path are created; an index names an element "
    "or\n"
    "the one behind the last.\n"
    "\n"
    "## A system of nodes\n"
    "\n"
    "A file with `nodes` describes a whole system. Every node reads the same file and is started "
    "with\n"
    "its name: `evb check FILE --node a`, `evb run FILE --node a`. Keys outside of `nodes` hold "
    "for all\n"
    "nodes. A key of a node replaces that key of the file as a whole; lists and objects are not "
    "merged.\n"
    "\n"
    "A node with builders and generators reads out and builds (folded); a node without builders is "
    "a\n"
    "readout node, one without generators a builder node. One node is the manager; it needs "
    "neither.\n"
    "Builders are numbered through the system, in the order of nodes, then of the node's builders. "
    "The\n"
    "appliance of node `a` in system `evb` is called `evb-a`.\n"
    "\n"
    "The nodes compare a hash of the configuration, overrides included, before they work together. "
    "It\n"
    "excludes what concerns one node: `memory`, `event_ring`, `writers`, `lcores`, `idle`, "
    "`links`,\n"
    "`$schema`.\n"
    "\n"
    "## Values\n"
    "\n"
    "Quantities are numbers in the base unit, or strings with a unit:\n"
    "\n"
    "| quantity | base unit | units |\n"
    "|---|---|---|\n"
    "| time | ns | `ns us ms s min h` |\n"
    "| size | bytes | `B kB MB GB TB` in thousands, `KiB MiB GiB TiB` in 1024s |\n"
    "| bit rate | b/s | `b/s kb/s Mb/s Gb/s Tb/s` |\n"
    "| frequency | Hz | `Hz kHz MHz GHz` |\n"
    "\n"
    "Whole numbers may be strings, in decimal or, after `0x`, in hexadecimal; numbers above 2^53 - "
    "1\n"
    "must be, since JSON numbers lose digits there. In the tables below a range without *number* "
    "and\n"
    "without a unit is one of whole numbers. A name(N) has at most N characters, which are\n"
    "`A-Z a-z 0-9 _ -`. Paths are relative to the directory in which evb is started.\n"
    "\n"
    "Beyond the ranges below, these rules are checked:\n"
    "\n"
    "- names are unique among ports, builders, generators and writers; a generator's port exists\n"
    "- there is at least one builder or generator; writers need a builder\n"
    "- every source id occurs once; `sources.expected`, `generators[].ids` and the sources of "
    "faults are\n"
    "  among `sources.ids`, at most 4096; `late_source` needs a `late_delay`\n"
    "- kinds `mdf`, `mfp`, `pcap` and `roce` of generators need a `file`, kind `synthetic` has "
    "none; the\n"
    "  mean of law `gaussian` is not above its maximum\n"
    "- UDP ports end at 65535; `ether_type` is not that of IP, ARP, VLANs or flow control\n"
    "- a port's address is that of a host, its Ethernet address no multicast address\n"
    "- groups, with those of writers, are at most 8; `source_map` needs format `mdf`, which needs\n"
    "  payload `mfp`\n"
    "- a list of `lcores` has each CPU at most once and each role exactly once\n"
    "- 0 < `low_water` < `high_water` < 1 on every port\n"
    "- at most 64 receive queues and generators of the node send segments to a builder\n"
    "- RoCE: service `ud` can only send; `queue_pairs` need connection `static`, their sources are "
    "among\n"
    "  `sources.ids`, their addresses are those of hosts, and their numbers differ in the low "
    "bits, the\n"
    "  index in a table of `max_queue_pairs`\n"
    "- transport `roce`: every port has an address, one receive queue, and an `mtu` with room for\n"
    "  `path_mtu` and headers; at most one generator sends on a port, and none is of kind `pcap`; "
    "the\n"
    "  payload is `mfp`; kind `roce` needs this transport\n"
    "\n"
    "Of a system every node is checked, whichever is started, and also:\n"
    "\n"
    "- nodes have different names, which fit behind that of the system; exactly one is the "
    "manager, and\n"
    "  the others have builders or generators; there is a builder\n"
    "- each node has a port with an address, and the addresses differ; there are at most 1024 "
    "builders\n"
    "- every source belongs to at most one generator, every expected source to one if there are "
    "any\n"
    "- `target_utilisation` is above 0 and `heartbeat_timeout` at least two heartbeats; flow "
    "control\n"
    "  pauses `data_priority`; UDP port and priority of control messages are others than those of\n"
    "  the data; the `mtu` of the node's port is at least 1256\n"
    "- generators are not of kind `pcap` or `roce`; with transport `eth` a node has one builder\n"
    "- transport `roce`: readouts use connection `cm` and service `rc` or `uc`; several builders "
    "on a node\n"
    "  need connection `cm` and are at most 16; operation `read` needs mode `pull` and service "
    "`rc`\n";

static void write_list(FILE *page, const char *what, const struct config_key *key)
{
	fprintf(page, "list of ");
	if (key->minimum)
		fprintf(page, "%llu to ", (unsigned long long)key->minimum);
	else
		fprintf(page, "up to ");
	fprintf(page, "%llu %s", (unsigned long long)key->maximum, what);
}

static void write_number(FILE *page, const struct config_key *key)
{
	bool is_real = key->type == CONFIG_TYPE_REAL && key->units == UNITS_COUNT;
	char minimum[UNITS_TEXT_SIZE], maximum[UNITS_TEXT_SIZE];

	units_format(key->units, key->minimum, minimum);
	units_format(key->units, key->maximum, maximum);
	fprintf(page, "%s%s%s..%s%s", key->or_auto ? "`auto`, or " : "", is_real ? "number " : "",
		minimum, maximum, key->power_of_two ? ", power of two" : "");
}

// Describes the values of a type, if the description does not depend on the key.
static const char *type_text(enum config_type type)
{
	static const char *const texts[] = {
		[CONFIG_TYPE_BOOLEAN] = "boolean",
		[CONFIG_TYPE_TEXT] = "string",
		[CONFIG_TYPE_IPV4] = "IPv4 address",
		[CONFIG_TYPE_IPV6] = "IPv6 address",
		[CONFIG_TYPE_IP] = "IPv4 or IPv6 address",
		[CONFIG_TYPE_MAC] = "Ethernet address",
		[CONFIG_TYPE_IDS] = "list of source ids",
		[CONFIG_TYPE_OWN_IDS] = "list of source ids",
		[CONFIG_TYPE_EXPECTED] = "list of source ids",
		[CONFIG_TYPE_OBJECT] = "object",
		[CONFIG_TYPE_IGNORED] = "string",
	};

	return (size_t)type < sizeof(texts) / sizeof(texts[0]) ? texts[type] : NULL;
}

static void write_value(FILE *page, const struct config_key *key)
{
	if (type_text(key->type) != NULL)
		fprintf(page, "%s%s", type_text(key->type), key->prefix ? " with prefix" : "");
	else if (key->type == CONFIG_TYPE_WHOLE || key->type == CONFIG_TYPE_REAL)
		write_number(page, key);
	else if (key->type == CONFIG_TYPE_WORD)
		for (unsigned i = 0; key->words[i]; i++)
			fprintf(page, "%s`%s`", i ? ", " : "", key->words[i]);
	else if (key->type == CONFIG_TYPE_NAME)
		fprintf(page, "name(%u)", (unsigned)key->maximum);
	else if (key->type == CONFIG_TYPE_OPTIONS)
		fprintf(page, "object of up to %u strings or whole numbers",
			(unsigned)key->maximum);
	else if (key->type == CONFIG_TYPE_NAMES || key->type == CONFIG_TYPE_ROLES)
		write_list(page, key->type == CONFIG_TYPE_NAMES ? "names" : "roles", key);
	else {
		fputs(key->type == CONFIG_TYPE_LIST_OR_AUTO ? "`auto`, or " : "", page);
		write_list(page, "objects", key);
	}
}

static void write_key(FILE *page, const struct config_key *key)
{
	fprintf(page, "| `%s` | ", key->name);
	write_value(page, key);
	if (key->required && key->unless)
		fprintf(page, ", required without `%s`", key->unless);
	else if (key->required)
		fputs(", required", page);
	else if (key->standard && key->standard[0])
		fprintf(page, " (`%s`)", key->standard);
	fprintf(page, " | %s |\n", key->help);
}

// Lists the keys of a node that replace those of the file.
static void write_own_keys(FILE *page, const struct config_object *object)
{
	const char *separator = "\nA node may replace";

	for (unsigned i = 0; i < object->n_keys; i++)
		if (object->keys[i].as_root) {
			fprintf(page, "%s `%s`", separator, object->keys[i].name);
			separator = ",";
		}
	fputs(separator[0] == ',' ? " of the file.\n" : "", page);
}

static void write_object(FILE *page, const struct config_object *object, const char *path)
{
	char nested[96];

	fprintf(page, "\n## %s%s%s\n\n| key | value (default) | meaning |\n|---|---|---|\n",
		path[0] ? "`" : "", path[0] ? path : "The file", path[0] ? "`" : "");
	for (unsigned i = 0; i < object->n_keys; i++)
		if (!object->keys[i].as_root)
			write_key(page, &object->keys[i]);
	write_own_keys(page, object);
	for (unsigned i = 0; i < object->n_keys; i++) {
		const struct config_key *key = &object->keys[i];
		if (!key->object || key->type == CONFIG_TYPE_OWN_IDS || key->as_root)
			continue;
		snprintf(nested, sizeof(nested), "%s%s%s%s", path, path[0] ? "." : "", key->name,
			 key->type == CONFIG_TYPE_OBJECT ? "" : "[]");
		write_object(page, key->object, nested);
	}
}

char *config_reference(void)
{
	char *text = NULL;
	size_t length;
	FILE *page = open_memstream(&text, &length);

	if (!page)
		return NULL;
	fputs(preface, page);
	write_object(page, &config_root, "");
	fclose(page);
	return text;
}
