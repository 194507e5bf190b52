// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the traffic models share. Internal to traffic*.c.
#pragma once

#include "base/random.h"
#include "sim_traffic/traffic.h"

// The functions of a model. `size` is that of its own struct, which begins with struct sim_traffic
// and is zero at first.
struct traffic_model {
	size_t size;
	bool (*start)(struct sim_traffic *traffic); // false: no memory; stop() is called then, too
	void (*sent)(struct sim_traffic *traffic, const struct sim_message *message);
	void (*delivered)(struct sim_traffic *traffic, const struct sim_message *message);
	void (*stop)(struct sim_traffic *traffic);
};

struct sim_traffic {
	const struct traffic_model *model;
	struct sim_traffic_parameters parameters;
	struct sim_traffic_account account;
	struct random random;
};

extern const struct traffic_model traffic_incast;
extern const struct traffic_model traffic_permutation;
extern const struct traffic_model traffic_uniform;
extern const struct traffic_model traffic_a2a;
extern const struct traffic_model traffic_daqpipe;

// The time in which a link carries so many bytes at a share of its rate, in ps.
static inline uint64_t traffic_time(const struct sim_traffic *traffic, double bytes, double load)
{
	return (uint64_t)(bytes / (traffic->parameters.bytes_per_second * load) *
			      (double)SIM_SECOND +
			  0.5);
}

// An event is complete.
static inline void traffic_trace(const struct sim_traffic *traffic, uint32_t host, uint64_t begun)
{
	const struct sim_tracer *tracer = traffic->parameters.tracer;

	if (tracer != NULL)
		tracer->event(tracer->context, host, begun);
}

static inline void traffic_send(struct sim_traffic *traffic, const struct sim_message *message)
{
	traffic->parameters.send(traffic->parameters.network, message);
}
