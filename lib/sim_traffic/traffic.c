// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_traffic/traffic.h"

#include <stdlib.h>

#include "sim_traffic/traffic_internal.h"

static const struct traffic_model *const models[] = {
	[SIM_TRAFFIC_INCAST] = &traffic_incast,   [SIM_TRAFFIC_PERMUTATION] = &traffic_permutation,
	[SIM_TRAFFIC_UNIFORM] = &traffic_uniform, [SIM_TRAFFIC_A2A] = &traffic_a2a,
	[SIM_TRAFFIC_DAQPIPE] = &traffic_daqpipe,
};

struct sim_traffic *sim_traffic_create(const struct sim_traffic_parameters *parameters)
{
	const struct traffic_model *model = models[parameters->settings.kind];
	struct sim_traffic *traffic = calloc(1, model->size);

	if (traffic == NULL)
		return NULL;
	traffic->model = model;
	traffic->parameters = *parameters;
	traffic->random = random_fork(parameters->seed, (uint64_t)parameters->settings.kind);
	if (!model->start(traffic)) {
		sim_traffic_destroy(traffic);
		return NULL;
	}
	return traffic;
}

void sim_traffic_destroy(struct sim_traffic *traffic)
{
	if (traffic == NULL)
		return;
	if (traffic->model->stop != NULL)
		traffic->model->stop(traffic);
	free(traffic);
}

void sim_traffic_sent(struct sim_traffic *traffic, const struct sim_message *message)
{
	if (traffic->model->sent != NULL)
		traffic->model->sent(traffic, message);
}

void sim_traffic_delivered(struct sim_traffic *traffic, const struct sim_message *message)
{
	if (traffic->model->delivered != NULL)
		traffic->model->delivered(traffic, message);
}

void sim_traffic_begin(struct sim_traffic *traffic)
{
	traffic->account = (struct sim_traffic_account){ 0 };
}

const struct sim_traffic_account *sim_traffic_account(const struct sim_traffic *traffic)
{
	return &traffic->account;
}
