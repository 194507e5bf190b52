// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The manual's page of all keys, in Markdown.
#include <stdio.h>
#include <string.h>

#include "config/internal.h"

static const char preface[] =
    "# Configuration\n"
    "\n"
    "One JSON file (RFC 8259, no comments, at most 16 MiB) configures one appliance, or all\n"
    "the nodes of a system. `evb check FILE` validates it and prints the plan that follows\n"
    "from it. `configs/schema.json` is its JSON Schema, for editors and other programs. This\n"
    "page is made from the same table as the parser.\n"
    "\n"
    "An error is one line that names the file, the key, and what is wrong:\n"
    "`configs/x.json: builders[0].slots: 0 is out of range 1..65536`. Unknown keys are\n"
    "errors.\n"
    "\n"
    "`--set PATH=VALUE` overrides a key of the file: `--set builders[0].slots=16`,\n"
    "`--set transport.kind=eth`. VALUE is JSON, or else taken as a string. Objects on the way\n"
    "are made if they are missing; the index of a list is that of an element or the one\n"
    "behind the last.\n"
    "\n"
    "## A system of nodes\n"
    "\n"
    "With `nodes` in it the file describes a whole system, so that nothing is written twice:\n"
    "every node reads the same file and is told which one it is, `evb check FILE --node a`,\n"
    "`evb run FILE --node a`. What the file says outside of `nodes` holds for all nodes. A\n"
    "node may have keys of its own for what it differs in (the rows \"as in the file\" below):\n"
    "such a key takes the place of the file's key as a whole, lists and objects are not\n"
    "merged.\n"
    "\n"
    "A node with builders and generators both reads out and builds (folded); one without\n"
    "builders is a readout node, one without generators a builder node. One node is the\n"
    "manager; it needs neither. Builders are numbered through the system, in the order of\n"
    "nodes, then of the node's builders. The appliance of node `a` in system `evb` is called\n"
    "`evb-a`.\n"
    "\n"
    "The nodes compare a hash of the configuration, overrides included, before they work\n"
    "together. It leaves out what concerns a node alone: `memory`, `event_ring`, `writers`,\n"
    "`lcores`, `idle`, `links`, `$schema`.\n"
    "\n"
    "## Values\n"
    "\n"
    "Quantities are numbers in the base unit, or strings with a unit:\n"
    "\n"
    "| quantity | base unit | units |\n"
    "|---|---|---|\n"
    "| time | nanoseconds | `ns us ms s min h` |\n"
    "| size | bytes | `B kB MB GB TB` in thousands, `KiB MiB GiB TiB` in 1024s |\n"
    "| bit rate | bits a second | `b/s kb/s Mb/s Gb/s Tb/s` |\n"
    "| frequency | a second | `Hz kHz MHz GHz` |\n"
    "\n"
    "Whole numbers may be written as strings, in decimal or, after `0x`, in hexadecimal;\n"
    "those above 2^53 - 1 must be, for JSON numbers lose digits there. A name has the\n"
    "characters `A-Z a-z 0-9 _ -`. Relative paths are relative to the directory in which evb\n"
    "is started.\n"
    "\n"
    "Beyond the ranges below, these are checked:\n"
    "\n"
    "- names are unique among ports, builders, generators and writers; a generator's port is\n"
    "  there\n"
    "- there is at least one builder or generator; writers need a builder\n"
    "- no source id is given twice; `sources.expected`, `generators[].ids` and the sources of\n"
    "  faults are among `sources.ids`, at most 4096; `late_source` needs a `late_delay`\n"
    "- a generator's `file` is given for kinds `mdf`, `mfp` and `pcap`, and for no other; the\n"
    "  mean of law `gaussian` is not above its maximum\n"
    "- the UDP ports end at 65535; `ether_type` is not that of IP, ARP, VLANs or flow control\n"
    "- a port's address is that of a host and its Ethernet address no multicast address\n"
    "- groups, with those of the writers, are at most 8; `source_map` comes with format `mdf`,\n"
    "  and `mdf` with payload `mfp`\n"
    "- where `lcores` is a list, no CPU is in it twice and each role is in it exactly once\n"
    "- 0 < `low_water` < `high_water` < 1 on every port\n"
    "- RoCE: service `ud` can only send; `queue_pairs` come with connection `static`, their\n"
    "  sources are among `sources.ids`, their addresses are those of hosts, and their numbers\n"
    "  differ in the low bits, by which they lie in a table of `max_queue_pairs`\n"
    "- transport `roce`: every port has an address, one receive queue, and an `mtu` with room for\n"
    "  `path_mtu` and headers; at most one generator sends on a port, and none is of kind `pcap`;\n"
    "  the payload is `mfp`; kind `roce` needs this transport\n"
    "\n"
    "Of a system every node is checked, whichever is started, and also:\n"
    "\n"
    "- nodes have different names, which fit behind that of the system; exactly one is the\n"
    "  manager, and the others have builders or generators; there is a builder somewhere\n"
    "- each node has a port with an address, and the addresses differ; builders are at most\n"
    "  1024 in all\n"
    "- no source is that of two generators; where there are generators, each expected source\n"
    "  is that of one\n"
    "- `target_utilisation` is above 0 and `heartbeat_timeout` at least two heartbeats;\n"
    "  control messages have a UDP port and a priority that are not those of the data, and no\n"
    "  port's flow control pauses their priority; the node's port has an `mtu` of at least 1256\n"
    "- generators are not of kind `pcap` or `roce`; with transport `eth` a node has one builder\n"
    "- transport `roce`: readouts use connection `cm` and service `rc` or `uc`; a node with "
    "several\n"
    "  builders uses connection `cm` and has at most 16; operation `read` needs mode `pull` and\n"
    "  service `rc`\n";

static void write_list(FILE *page, const char *what, const struct config_key *key)
{
	if (key->minimum)
		fprintf(page, "list of %llu to %llu %s", (unsigned long long)key->minimum,
			(unsigned long long)key->maximum, what);
	else
		fprintf(page, "list of up to %llu %s", (unsigned long long)key->maximum, what);
}

static void write_number(FILE *page, const struct config_key *key)
{
	static const char *const kinds[] = {
		[UNITS_COUNT] = "whole number",  [UNITS_TIME] = "time",
		[UNITS_SIZE] = "size",           [UNITS_BIT_RATE] = "bit rate",
		[UNITS_FREQUENCY] = "frequency",
	};
	bool is_real = key->type == CONFIG_TYPE_REAL && key->units == UNITS_COUNT;
	char minimum[UNITS_TEXT_SIZE], maximum[UNITS_TEXT_SIZE];

	units_format(key->units, key->minimum, minimum);
	units_format(key->units, key->maximum, maximum);
	fprintf(page, "%s%s %s..%s%s", key->or_auto ? "`auto`, or " : "",
		is_real ? "number" : kinds[key->units], minimum, maximum,
		key->power_of_two ? ", power of two" : "");
}

static void write_words(FILE *page, const struct config_key *key)
{
	for (unsigned i = 0; key->words[i]; i++)
		fprintf(page, "%s`%s`", i ? ", " : "", key->words[i]);
}

static void write_value(FILE *page, const struct config_key *key)
{
	switch (key->type) {
	case CONFIG_TYPE_BOOLEAN:
		fputs("`true`, `false`", page);
		break;
	case CONFIG_TYPE_WHOLE:
	case CONFIG_TYPE_REAL:
		write_number(page, key);
		break;
	case CONFIG_TYPE_WORD:
		write_words(page, key);
		break;
	case CONFIG_TYPE_NAME:
		fprintf(page, "name of up to %u characters", (unsigned)key->maximum);
		break;
	case CONFIG_TYPE_IPV4:
		fputs(key->prefix ? "IPv4 address with prefix" : "IPv4 address", page);
		break;
	case CONFIG_TYPE_IPV6:
		fputs("IPv6 address", page);
		break;
	case CONFIG_TYPE_IP:
		fputs("IPv4 or IPv6 address", page);
		break;
	case CONFIG_TYPE_MAC:
		fputs("Ethernet address", page);
		break;
	case CONFIG_TYPE_IDS:
	case CONFIG_TYPE_OWN_IDS:
	case CONFIG_TYPE_EXPECTED:
		fputs("list of source ids", page);
		break;
	case CONFIG_TYPE_NAMES:
		write_list(page, "names", key);
		break;
	case CONFIG_TYPE_ROLES:
		write_list(page, "roles", key);
		break;
	case CONFIG_TYPE_OPTIONS:
		fprintf(page, "object of up to %u strings or whole numbers",
			(unsigned)key->maximum);
		break;
	case CONFIG_TYPE_OBJECT:
		fputs("object", page);
		break;
	case CONFIG_TYPE_LIST_OR_AUTO:
		fputs("`auto`, or ", page);
		write_list(page, "objects", key);
		break;
	case CONFIG_TYPE_LIST:
	case CONFIG_TYPE_NODES:
		write_list(page, "objects", key);
		break;
	case CONFIG_TYPE_TEXT:
	case CONFIG_TYPE_IGNORED:
		fputs("string", page);
		break;
	}
}

static void write_key(FILE *page, const struct config_key *key)
{
	if (key->as_root) {
		fprintf(page, "| `%s` | as in the file | the file's | %s |\n", key->name,
			key->help);
		return;
	}
	fprintf(page, "| `%s` | ", key->name);
	write_value(page, key);
	if (key->required && key->unless)
		fprintf(page, " | required without `%s`", key->unless);
	else if (key->required)
		fputs(" | required", page);
	else if (key->standard && key->standard[0])
		fprintf(page, " | `%s`", key->standard);
	else
		fputs(" | ", page);
	fprintf(page, " | %s |\n", key->help);
}

static void write_object(FILE *page, const struct config_object *object, const char *path)
{
	char nested[96];

	fprintf(page, "\n## %s%s%s\n\n| key | value | default | meaning |\n|---|---|---|---|\n",
		path[0] ? "`" : "", path[0] ? path : "The file", path[0] ? "`" : "");
	for (unsigned i = 0; i < object->n_keys; i++)
		write_key(page, &object->keys[i]);
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
