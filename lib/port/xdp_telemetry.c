// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The results of rte_tel_data_add_*() are ignored: these functions fail only if there are too many
// keys, or a key is too long or has wrong characters.
#include "port/xdp_telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_telemetry.h>

#include "dpdk/release.h"
#include "wire/net.h"

#define PARAMETERS_SIZE 128

// Held while a response is composed, so that the port is not closed meanwhile.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct xdp *ports[EVB_MAX_PORTS]; // NULL: the entry is not in use

static struct xdp *find(const char *name)
{
	for (unsigned i = 0; i < EVB_MAX_PORTS; i++)
		if (ports[i] != NULL && strcmp(ports[i]->port, name) == 0)
			return ports[i];
	return NULL;
}

static int respond_error(struct rte_tel_data *data, const char *what)
{
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "error", what);
	return 0;
}

static bool parse_id(const char *text, uint16_t *id)
{
	char *end;
	unsigned long number = strtoul(text, &end, 0);

	*id = (uint16_t)number;
	return text[0] != '\0' && *end == '\0' && number <= UINT16_MAX;
}

static int describe_source(struct xdp *xdp, const char *rest, struct rte_tel_data *data)
{
	struct steer_counter counter;
	uint16_t id;

	if (!parse_id(rest, &id))
		return respond_error(data, "the parameters are PORT,ID with ID 0 to 65535");
	if (!xdp_source_counter(xdp, id, &counter))
		return respond_error(data, "this source is not admitted");
	rte_tel_data_start_dict(data);
	dpdk_add_uint(data, "redirected_packets", counter.packets);
	dpdk_add_uint(data, "redirected_bytes", counter.bytes);
	return 0;
}

static void add_stranger(struct rte_tel_data *data, unsigned index,
			 const struct xdp_stranger *stranger)
{
	struct rte_tel_data *nested = rte_tel_data_alloc();
	uint32_t ip = stranger->address;
	char text[RTE_TEL_MAX_STRING_LEN];

	if (nested == NULL)
		return; // memory ran out: the response lacks this entry
	rte_tel_data_start_dict(nested);
	snprintf(text, sizeof(text), "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
		 ip & 255);
	rte_tel_data_add_dict_string(nested, "address", text);
	if (stranger->id != STEER_NO_ID)
		dpdk_add_uint(nested, "source", stranger->id);
	dpdk_add_uint(nested, "packets", stranger->packets);
	snprintf(text, sizeof(text), "stranger_%u", index);
	if (rte_tel_data_add_dict_container(data, text, nested, 0) != 0)
		rte_tel_data_free(nested);
}

static int describe_strangers(struct xdp *xdp, const char *rest, struct rte_tel_data *data)
{
	struct xdp_stranger strangers[STEER_MAX_STRANGERS];
	unsigned n = xdp_strangers(xdp, strangers, STEER_MAX_STRANGERS);

	(void)rest;
	rte_tel_data_start_dict(data);
	dpdk_add_uint(data, "strangers", n);
	for (unsigned i = 0; i < n; i++)
		add_stranger(data, i, &strangers[i]);
	return 0;
}

static int change(struct xdp *xdp, const char *who, struct rte_tel_data *data, bool admit)
{
	unsigned prefix;
	uint32_t address;
	uint16_t id;
	int result;

	if (net_ipv4_parse(who, &address, &prefix) && prefix == 32)
		result = xdp_change_address(xdp, address, admit);
	else if (parse_id(who, &id))
		result = xdp_change_source(xdp, id, admit);
	else
		return respond_error(data,
				     "the parameters are PORT,WHO: a source id or an IPv4 address");
	if (result == -EEXIST || result == -ENOENT)
		return respond_error(data, admit ? "admitted already" : "not admitted");
	if (result != 0)
		return respond_error(data, strerror(-result));
	rte_tel_data_start_dict(data);
	dpdk_add_uint(data, "changed", 1);
	return 0;
}

static int admit(struct xdp *xdp, const char *rest, struct rte_tel_data *data)
{
	return change(xdp, rest, data, true);
}

static int refuse(struct xdp *xdp, const char *rest, struct rte_tel_data *data)
{
	return change(xdp, rest, data, false);
}

static const struct verb {
	const char *command, *help;
	int (*respond)(struct xdp *xdp, const char *rest, struct rte_tel_data *data);
} verbs[] = {
	{ "/evb/xdp/source", "Counters of an admitted source. Parameters: PORT,ID",
	  describe_source },
	{ "/evb/xdp/strangers", "Who was refused lately. Parameters: PORT", describe_strangers },
	{ "/evb/xdp/admit", "Admits a source or address. Parameters: PORT,WHO", admit },
	{ "/evb/xdp/refuse", "Refuses a source or address. Parameters: PORT,WHO", refuse },
};

// Responds to a command. `parameters` are "PORT" or "PORT,REST".
static int respond(const char *command, const char *parameters, struct rte_tel_data *data)
{
	char text[PARAMETERS_SIZE], *rest = text;
	const struct verb *verb = verbs;
	struct xdp *xdp;
	int result;

	while (strcmp(verb->command, command) != 0)
		verb++; // ends: DPDK calls this function only for registered commands
	snprintf(text, sizeof(text), "%s", parameters != NULL ? parameters : "");
	(void)strsep(&rest, ",");
	pthread_mutex_lock(&lock);
	xdp = find(text);
	result = xdp != NULL ? verb->respond(xdp, rest != NULL ? rest : "", data)
			     : respond_error(data, "no port of this name is steered: see "
						   "/evb/xdp/list");
	pthread_mutex_unlock(&lock);
	return result;
}

// Puts a port in the place of another; NULL is an entry that is not in use.
static void replace(const struct xdp *old, struct xdp *new)
{
	unsigned i = 0;

	pthread_mutex_lock(&lock);
	while (i < EVB_MAX_PORTS && ports[i] != old)
		i++;
	if (i < EVB_MAX_PORTS)
		ports[i] = new;
	pthread_mutex_unlock(&lock);
}

void xdp_telemetry_add(struct xdp *xdp)
{
	static bool registered; // control thread

	// A failure is ignored: the port also runs without these commands.
	for (unsigned i = 0; !registered && i < RTE_DIM(verbs); i++)
		(void)rte_telemetry_register_cmd(verbs[i].command, respond, verbs[i].help);
	registered = true;
	replace(NULL, xdp);
}

void xdp_telemetry_remove(const struct xdp *xdp)
{
	replace(xdp, NULL);
}
