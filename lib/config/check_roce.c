// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What lies between the keys of RoCE v2.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

static struct config_reader *at_pair(struct config_reader *reader, unsigned index, const char *key)
{
	return config_at_element(reader, "roce.queue_pairs", index, key);
}

static int compare_ids(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

// Queue pairs lie in a table by the low bits of their numbers, so these must differ.
static int check_place(struct config_reader *reader, const struct config_roce *roce, unsigned index,
		       uint16_t *places)
{
	uint32_t qpn = roce->queue_pairs[index].local_qpn;
	uint16_t *place = &places[qpn & (roce->max_queue_pairs - 1)];

	if (*place)
		return config_fail(at_pair(reader, index, "local_qpn"),
				   "0x%x and that of queue_pairs[%u] are the same in a table of "
				   "max_queue_pairs, which is %u",
				   qpn, *place - 1, roce->max_queue_pairs);
	*place = (uint16_t)(index + 1);
	return 0;
}

static bool is_host(const uint8_t address[16])
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t none[16];

	if (!memcmp(address, ipv4, sizeof(ipv4)))
		return address[12] != 0 && address[12] < 224;
	return address[0] != 0xff && memcmp(address, none, sizeof(none)) != 0;
}

static int check_pairs(struct config_reader *reader, const struct config *config, uint16_t *places)
{
	const struct config_sources *sources = &config->sources;
	const struct config_roce *roce = &config->roce;

	for (unsigned i = 0; i < roce->n_queue_pairs; i++) {
		const struct config_queue_pair *pair = &roce->queue_pairs[i];
		if (pair->has_source && !bsearch(&pair->source, sources->ids, sources->n_ids,
						 sizeof(pair->source), compare_ids))
			return config_fail(at_pair(reader, i, "source"),
					   "source id %u (0x%x) is not in sources.ids",
					   pair->source, pair->source);
		if (!is_host(pair->address))
			return config_fail(at_pair(reader, i, "address"),
					   "is not the address of a host");
		if (check_place(reader, roce, i, places))
			return -1;
	}
	return 0;
}

int config_check_roce(struct config_reader *reader, const struct config *config)
{
	const struct config_roce *roce = &config->roce;

	if (roce->service == CONFIG_SERVICE_UD && roce->operation >= CONFIG_OPERATION_WRITE)
		return config_fail(config_at(reader, "roce.operation"), "service ud can only send");
	if (roce->n_queue_pairs == 0)
		return 0;
	if (roce->connection != CONFIG_CONNECTION_STATIC)
		return config_fail(config_at(reader, "roce.queue_pairs"),
				   "is of use with connection static only");
	uint16_t *places = calloc(roce->max_queue_pairs, sizeof(*places));
	if (!places)
		return config_fail(reader, "out of memory");
	int result = check_pairs(reader, config, places);
	free(places);
	return result;
}
