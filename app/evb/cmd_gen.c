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
	const char *port[6]; // profile, device, address, mtu, destination address and MAC
	const char *udp_port, *packing, *law, *mean, *sigma, *maximum, *rate, *events, *first_event;
	const char *seed, *mdf, *mfp, *map, *out;
	const char *sources;
	const char *transport, *service, *operation;
	struct overrides overrides;
	struct session_options session;
};

enum {
	OPTION_PROFILE,
	OPTION_DEVICE,
	OPTION_ADDRESS,
	OPTION_MTU,
	OPTION_TO,
	OPTION_TO_MAC,
};

enum {
	KEY_PORT = 256, // + the options above
	KEY_UDP_PORT = 300,
	KEY_ETHER,
	KEY_TRANSPORT,
	KEY_SERVICE,
	KEY_OPERATION,
	KEY_SIGMA,
	KEY_MAXIMUM,
	KEY_FIRST_EVENT,
	KEY_SEED,
	KEY_MDF,
	KEY_MFP,
	KEY_MAP,
	KEY_SUMMARY,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Where to", 1 },
	{ "profile", KEY_PORT + OPTION_PROFILE, "NAME", 0, "driver profile (default af_packet)",
	  1 },
	{ "device", KEY_PORT + OPTION_DEVICE, "NAME", 0, "interface, memif socket, PCI address",
	  1 },
	{ "address", KEY_PORT + OPTION_ADDRESS, "ADDRESS/PREFIX", 0, "to send from", 1 },
	{ "mtu", KEY_PORT + OPTION_MTU, "BYTES", 0, "of the path (default 1500)", 1 },
	{ "to", KEY_PORT + OPTION_TO, "ADDRESS", 0, "receiver", 1 },
	{ "to-mac", KEY_PORT + OPTION_TO_MAC, "MAC", 0, "receiver's, instead of asking by ARP", 1 },
	{ "udp-port", KEY_UDP_PORT, "PORT", 0, "receiver's (default 19522)", 1 },
	{ "transport", KEY_TRANSPORT, "KIND", 0,
	  "udp (default), eth (right behind an EtherType) or roce (RDMA, connected by RDMA CM)",
	  1 },
	{ "ether", KEY_ETHER, NULL, 0, "the same as --transport eth", 1 },
	{ "service", KEY_SERVICE, "SERVICE", 0, "of roce: rc (default) or uc", 1 },
	{ "operation", KEY_OPERATION, "OPERATION", 0,
	  "of roce: send (default), send_imm, write or write_imm", 1 },
	{ "out", 'o', "FILE.mfp", 0, "write the MFPs to a file instead of sending them", 1 },
	{ NULL, 0, NULL, 0, "What", 2 },
	{ "sources", 's', "IDS", 0, "source ids and ranges, as in 1-8,0x1000 (default 1-8)", 2 },
	{ "packing", 'p', "N", 0, "events in an MFP (default 1)", 2 },
	{ "law", 'l', "LAW", 0, "fragment sizes: fixed, gaussian or lhcb", 2 },
	{ "mean", 'm', "BYTES", 0, "of a fragment (default 100)", 2 },
	{ "sigma", KEY_SIGMA, "BYTES", 0, "of law gaussian (default 20)", 2 },
	{ "maximum", KEY_MAXIMUM, "BYTES", 0, "of law gaussian (default 240)", 2 },
	{ "mdf", KEY_MDF, "FILE", 0, "events of an MDF file, one source a bank", 2 },
	{ "source-map", KEY_MAP, "FILE", 0, "where to write which source stands for which bank",
	  2 },
	{ "mfp", KEY_MFP, "FILE", 0, "MFPs of a file; name its --sources and --packing", 2 },
	{ "first-event", KEY_FIRST_EVENT, "ID", 0, "event id of the first fragment (default 0)",
	  2 },
	{ "seed", KEY_SEED, "N", 0, "of sizes and contents", 2 },
	{ NULL, 0, NULL, 0, "How much", 3 },
	{ "rate", 'r', "EVENTS", 0, "MFPs a source and second (default: as fast as it goes)", 3 },
	{ "events", 'n', "N", 0, "MFPs a source, then the end of run (default: until stopped)", 3 },
	{ "duration", 'd', "SECONDS", 0, "stop after this time", 3 },
	{ "summary", KEY_SUMMARY, "FILE", 0, "write the final account as JSON", 3 },
	{ "set", 'S', "PATH=VALUE", 0,
	  "override a key of the composed configuration, as in generators[0].faults.loss=0.01", 3 },
	{ "quiet", 'q', NULL, 0, "show only the final account", 3 },
	{ 0 },
};

static const struct arguments_field fields[] = {
	{ KEY_PORT + OPTION_PROFILE, ARGUMENTS_TEXT,
	  offsetof(struct arguments, port[OPTION_PROFILE]) },
	{ KEY_PORT + OPTION_DEVICE, ARGUMENTS_TEXT,
	  offsetof(struct arguments, port[OPTION_DEVICE]) },
	{ KEY_PORT + OPTION_ADDRESS, ARGUMENTS_TEXT,
	  offsetof(struct arguments, port[OPTION_ADDRESS]) },
	{ KEY_PORT + OPTION_MTU, ARGUMENTS_TEXT, offsetof(struct arguments, port[OPTION_MTU]) },
	{ KEY_PORT + OPTION_TO, ARGUMENTS_TEXT, offsetof(struct arguments, port[OPTION_TO]) },
	{ KEY_PORT + OPTION_TO_MAC, ARGUMENTS_TEXT,
	  offsetof(struct arguments, port[OPTION_TO_MAC]) },
	{ 's', ARGUMENTS_TEXT, offsetof(struct arguments, sources) },
	{ 'p', ARGUMENTS_TEXT, offsetof(struct arguments, packing) },
	{ 'l', ARGUMENTS_TEXT, offsetof(struct arguments, law) },
	{ 'm', ARGUMENTS_TEXT, offsetof(struct arguments, mean) },
	{ KEY_SIGMA, ARGUMENTS_TEXT, offsetof(struct arguments, sigma) },
	{ KEY_MAXIMUM, ARGUMENTS_TEXT, offsetof(struct arguments, maximum) },
	{ KEY_MDF, ARGUMENTS_TEXT, offsetof(struct arguments, mdf) },
	{ KEY_MFP, ARGUMENTS_TEXT, offsetof(struct arguments, mfp) },
	{ KEY_MAP, ARGUMENTS_TEXT, offsetof(struct arguments, map) },
	{ KEY_FIRST_EVENT, ARGUMENTS_TEXT, offsetof(struct arguments, first_event) },
	{ KEY_SEED, ARGUMENTS_TEXT, offsetof(struct arguments, seed) },
	{ KEY_UDP_PORT, ARGUMENTS_TEXT, offsetof(struct arguments, udp_port) },
	{ KEY_TRANSPORT, ARGUMENTS_TEXT, offsetof(struct arguments, transport) },
	{ KEY_SERVICE, ARGUMENTS_TEXT, offsetof(struct arguments, service) },
	{ KEY_OPERATION, ARGUMENTS_TEXT, offsetof(struct arguments, operation) },
	{ 'o', ARGUMENTS_TEXT, offsetof(struct arguments, out) },
	{ 'r', ARGUMENTS_TEXT, offsetof(struct arguments, rate) },
	{ 'n', ARGUMENTS_TEXT, offsetof(struct arguments, events) },
	{ 'd', ARGUMENTS_POSITIVE, offsetof(struct arguments, session.duration) },
	{ KEY_SUMMARY, ARGUMENTS_TEXT, offsetof(struct arguments, session.summary) },
	{ 'S', ARGUMENTS_OVERRIDE, offsetof(struct arguments, overrides) },
	{ 'q', ARGUMENTS_FLAG, offsetof(struct arguments, session.quiet) },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case KEY_ETHER:
		arguments->transport = "eth";
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\" is not an option", argument);
		return EINVAL;
	case ARGP_KEY_END:
		if (arguments->out == NULL && arguments->port[OPTION_DEVICE] == NULL)
			argp_error(state, "name a --device to send from, or a file with --out");
		return 0;
	default:
		return arguments_store(fields, options, key, argument, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc =
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

	if (mdf_sources_map(&map, arguments->mdf, error) != 0) {
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
	const char *const *port = arguments->port;
	const char *profile = arguments->out != NULL ? "null" : port[OPTION_PROFILE];
	const char *file = arguments->mdf != NULL ? arguments->mdf : arguments->mfp;
	cJSON *root = compose_make("gen");

	compose_text(root, "ports[0].name", "wire");
	compose_text(root, "ports[0].profile", profile != NULL ? profile : "af_packet");
	compose_text(root, "ports[0].device", arguments->out != NULL ? NULL : port[OPTION_DEVICE]);
	compose_text(root, "ports[0].address", port[OPTION_ADDRESS]);
	compose_quantity(root, "ports[0].mtu", port[OPTION_MTU]);
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
	compose_text(root, "generators[0].destination.address", port[OPTION_TO]);
	compose_text(root, "generators[0].destination.mac", port[OPTION_TO_MAC]);
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

	if (arguments_parse(&argp, argc, argv, &arguments) != 0)
		return 1;
	ids = arguments.mdf != NULL ? ids_of_mdf(&arguments) : list_of_ids(arguments.sources);
	if (ids == NULL)
		return 1;
	if (arguments.out != NULL)
		return write_file(&arguments, compose(&arguments, ids));
	return compose_run(compose(&arguments, ids), "gen", &arguments.overrides,
			   &arguments.session);
}
