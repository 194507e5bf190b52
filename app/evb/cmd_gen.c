// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compose.h"
#include "source/mdf_sources.h"
#include "source/mfp_file.h"

struct arguments {
	const char *profile, *device, *address, *gateway, *mtu, *to, *to_mac, *udp_port;
	const char *transport, *service, *operation;
	const char *sources, *packing, *law, *mean, *sigma, *maximum, *rate, *events, *first_event;
	const char *seed, *mdf, *mfp, *map, *out;
	struct overrides overrides;
	struct session_options session;
};

static void take_ether(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;

	(void)text;
	(void)state;
	arguments->transport = "eth";
}

static void refuse(void *arguments, const char *text, const struct argp_state *state)
{
	(void)arguments;
	argp_error(state, "\"%s\" is not an option", text);
}

static const struct arguments_option options[] = {
	{ .help = "Where to" },
	{ "profile", 0, "NAME", INTO(TEXT, profile), "driver profile (default af_packet)" },
	{ "device", 0, "NAME", INTO(TEXT, device), "interface, memif socket, PCI address" },
	{ "address", 0, "ADDRESS/PREFIX", INTO(TEXT, address), "to send from" },
	{ "gateway", 0, "ADDRESS", INTO(TEXT, gateway), "router to receivers in other networks" },
	{ "mtu", 0, "BYTES", INTO(TEXT, mtu),
	  "of the path (default 1500), or auto: of the interface" },
	{ "to", 0, "ADDRESS", INTO(TEXT, to), "receiver" },
	{ "to-mac", 0, "MAC", INTO(TEXT, to_mac), "receiver's, instead of asking by ARP" },
	{ "udp-port", 0, "PORT", INTO(TEXT, udp_port), "receiver's (default 19522)" },
	{ "transport", 0, "KIND", INTO(TEXT, transport),
	  "udp (default), eth (right behind an EtherType) or roce (RDMA, connected by RDMA CM)" },
	{ "ether", 0, NULL, TAKE(take_ether), "the same as --transport eth" },
	{ "service", 0, "SERVICE", INTO(TEXT, service), "of roce: rc (default) or uc" },
	{ "operation", 0, "OPERATION", INTO(TEXT, operation),
	  "of roce: send (default), send_imm, write or write_imm" },
	{ "out", 'o', "FILE.mfp", INTO(TEXT, out),
	  "write the MFPs to a file instead of sending them" },
	{ .help = "What" },
	{ "sources", 's', "IDS", INTO(TEXT, sources),
	  "source ids and ranges, as in 1-8,0x1000 (default 1-8)" },
	{ "packing", 'p', "N", INTO(TEXT, packing), "events in an MFP (default 1)" },
	{ "law", 'l', "LAW", INTO(TEXT, law), "fragment sizes: fixed, gaussian or lhcb" },
	{ "mean", 'm', "BYTES", INTO(TEXT, mean), "of a fragment (default 100)" },
	{ "sigma", 0, "BYTES", INTO(TEXT, sigma), "of law gaussian (default 20)" },
	{ "maximum", 0, "BYTES", INTO(TEXT, maximum), "of law gaussian (default 240)" },
	{ "mdf", 0, "FILE", INTO(TEXT, mdf), "events of an MDF file, one source a bank" },
	{ "source-map", 0, "FILE", INTO(TEXT, map),
	  "where to write which source stands for which bank" },
	{ "mfp", 0, "FILE", INTO(TEXT, mfp), "MFPs of a file; name its --sources and --packing" },
	{ "first-event", 0, "ID", INTO(TEXT, first_event),
	  "event id of the first fragment (default 0)" },
	{ "seed", 0, "N", INTO(TEXT, seed), "of sizes and contents" },
	{ .help = "How much" },
	{ "rate", 'r', "EVENTS", INTO(TEXT, rate),
	  "MFPs a source and second (default: as fast as it goes)" },
	{ "events", 'n', "N", INTO(TEXT, events),
	  "MFPs a source, then the end of run (default: until stopped)" },
	{ "duration", 'd', "TIME", INTO(DURATION, session.duration), "stop after this time" },
	{ "summary", 0, "FILE", INTO(TEXT, session.summary), "write the final account as JSON" },
	{ "set", 'S', "PATH=VALUE", INTO(OVERRIDE, overrides),
	  "override a key of the composed configuration, as in generators[0].faults.loss=0.01" },
	{ "quiet", 'q', NULL, INTO(FLAG, session.quiet), "show only the final account" },
	{ NULL, 0, NULL, TAKE(refuse), NULL },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;

	if (arguments->out == NULL && arguments->device == NULL)
		argp_error(state, "name a --device to send from, or a file with --out");
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.help =
	    "Stands for readout boards: sends MFPs in segments out of a port, or writes them to an "
	    ".mfp file.",
};

// "1-8,0x1000" -> ["1-8", "0x1000"]
static cJSON *list_of_ids(const char *text)
{
	cJSON *list = cJSON_CreateArray();
	char *copy = strdup(text), *rest = NULL;

	for (char *part = copy != NULL ? strtok_r(copy, ",", &rest) : NULL; part != NULL;
	     part = strtok_r(NULL, ",", &rest))
		cJSON_AddItemToArray(list, cJSON_CreateString(part));
	free(copy);
	return list;
}

// Reads the source ids of an MDF file. NULL after one line on stderr.
static cJSON *ids_of_mdf(const struct arguments *arguments)
{
	char error[SOURCE_ERROR_SIZE];
	struct source_map *map;
	cJSON *list = NULL;

	if (mdf_sources_map(&map, arguments->mdf, SOURCE_WINDOW, error) != 0) {
		fprintf(stderr, "evb: %s\n", error);
		return NULL;
	}
	if (arguments->map == NULL || source_map_save(map, arguments->map, error) == 0) {
		list = cJSON_CreateArray();
		for (unsigned i = 0; i < map->n_entries; i++)
			cJSON_AddItemToArray(list, cJSON_CreateNumber(map->entries[i].id));
	} else {
		fprintf(stderr, "evb: %s\n", error);
	}
	source_map_free(map);
	return list;
}

static cJSON *compose(const struct arguments *arguments, cJSON *ids)
{
	const char *profile = arguments->out != NULL ? "null" : arguments->profile;
	const char *file = arguments->mdf != NULL ? arguments->mdf : arguments->mfp;
	cJSON *root = compose_make("gen");

	compose_text(root, "ports[0].name", "wire");
	compose_text(root, "ports[0].profile", profile != NULL ? profile : "af_packet");
	compose_text(root, "ports[0].device", arguments->out != NULL ? NULL : arguments->device);
	compose_text(root, "ports[0].address", arguments->address);
	compose_text(root, "ports[0].gateway", arguments->out != NULL ? NULL : arguments->gateway);
	compose_quantity(root, "ports[0].mtu", arguments->mtu);
	compose_text(root, "transport.kind",
		     arguments->transport != NULL ? arguments->transport : "udp");
	compose_quantity(root, "transport.udp_port", arguments->udp_port);
	compose_text(root, "roce.service", arguments->service);
	compose_text(root, "roce.operation", arguments->operation);
	compose_set(root, "sources.ids", ids);
	compose_quantity(root, "sources.packing", arguments->packing);

	compose_text(root, "generators[0].name", "gen");
	compose_text(root, "generators[0].port", "wire");
	compose_text(root, "generators[0].kind",
		     arguments->mdf != NULL   ? "mdf"
		     : arguments->mfp != NULL ? "mfp"
					      : "synthetic");
	compose_text(root, "generators[0].file", file);
	compose_quantity(root, "generators[0].rate", arguments->rate);
	compose_text(root, "generators[0].events", arguments->events);
	compose_text(root, "generators[0].first_event", arguments->first_event);
	compose_text(root, "generators[0].seed", arguments->seed);
	compose_text(root, "generators[0].destination.address", arguments->to);
	compose_text(root, "generators[0].destination.mac", arguments->to_mac);
	if (file == NULL) {
		compose_text(root, "generators[0].size.law", arguments->law);
		compose_quantity(root, "generators[0].size.mean", arguments->mean);
		compose_quantity(root, "generators[0].size.sigma", arguments->sigma);
		compose_quantity(root, "generators[0].size.maximum", arguments->maximum);
	}
	return root;
}

static int write_file(const struct arguments *arguments, cJSON *root)
{
	char error[SOURCE_ERROR_SIZE];
	struct source_set_parameters parameters;
	struct config *config;
	struct source_set *set;
	int status = 1;

	if (compose_config(root, "gen", &arguments->overrides, &config) != 0)
		return 1;
	parameters = config_source_set(config, &config->generators[0]);
	if (source_set_make(&set, &parameters, NULL, error) != 0) {
		fprintf(stderr, "evb: %s\n", error);
		config_free(config);
		return 1;
	}
	if (mfp_file_write(arguments->out, set, config->generators[0].first_event,
			   config->generators[0].events, error) == 0) {
		printf("wrote %s: %u sources, packing %u\n", arguments->out, set->n_sources,
		       set->packing);
		status = 0;
	} else {
		fprintf(stderr, "evb: %s\n", error);
	}
	source_set_free(set);
	config_free(config);
	return status;
}

int cmd_gen(int argc, char **argv)
{
	struct arguments arguments = { .sources = "1-8" };
	cJSON *ids;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	ids = arguments.mdf != NULL ? ids_of_mdf(&arguments) : list_of_ids(arguments.sources);
	if (ids == NULL)
		return 1;
	if (arguments.out != NULL)
		return write_file(&arguments, compose(&arguments, ids));
	return compose_run(compose(&arguments, ids), "gen", &arguments.overrides,
			   &arguments.session);
}
