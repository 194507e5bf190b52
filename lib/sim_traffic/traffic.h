// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Traffic models: which host sends how much to which other host, and when. They stand for a system
// where only the network is studied.
//
//   incast       at regular times all senders send one message each to host 0
//   permutation  each host sends to one other host, and receives from one, at a constant rate
//   uniform      each host sends to random others, at random times (a Poisson process)
//   a2a          all to all in phases by the clock: in phase n host x sends to host x + n for the
//                send window; an idle window follows
//   daqpipe      an event builder: builders announce credits to an event manager on host 0, which
//                assigns events; each host is a readout unit and a builder. Pull: the builder
//                requests the fragment of each readout unit, a few at a time. Push: the readout
//                units learn the assignment and send by themselves.
//
// A model sends messages, and learns when a message has left its host and when it has arrived
// completely. It repeats none: where the network loses packets, daqpipe loses credits.
//
// Threads: a model belongs to the thread of its engine.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/limits.h"
#include "sim/engine.h"
#include "sim/law.h"
#include "sim/tracer.h"

#define SIM_TRAFFIC_MAX_CREDITS 1024u

// Which side begins the transfer of a fragment of daqpipe.
enum sim_mode { SIM_PULL, SIM_PUSH };

enum sim_traffic_kind {
	SIM_TRAFFIC_INCAST,
	SIM_TRAFFIC_PERMUTATION,
	SIM_TRAFFIC_UNIFORM,
	SIM_TRAFFIC_A2A,
	SIM_TRAFFIC_DAQPIPE,
	SIM_TRAFFIC_SYSTEM, // of lib/sim_system, not of this file
};

// The order in which a builder of daqpipe requests fragments, or a readout unit sends them.
enum sim_shift {
	SIM_SHIFT_LINEAR,  // host x begins with host x + 1
	SIM_SHIFT_BARRIER, // the same, and all hosts wait for each other after each step
	SIM_SHIFT_RANDOM,
};

struct sim_traffic_settings {
	enum sim_traffic_kind kind;
	uint32_t message; // bytes of a message, or of a fragment of daqpipe; above 0
	// Sent bytes as a share of what a link can carry: that of the receiver of an incast, and
	// that of each host of permutation and uniform. Above 0.
	double load;
	uint32_t senders;          // incast: 0: all hosts but the receiver
	uint64_t send_window_ns;   // a2a; above 0
	uint64_t idle_window_ns;   // a2a
	uint32_t credits;          // daqpipe: of each builder, 1 to SIM_TRAFFIC_MAX_CREDITS
	uint32_t parallel_sends;   // daqpipe: fragments in flight per event (pull) or per readout
				   // unit (push); above 0
	enum sim_mode mode;        // daqpipe
	enum sim_shift shift;      // daqpipe
	uint64_t consumer_time_ns; // system: mean time of a builder's consumer per event
	enum sim_law_kind consumer_law;     // system
	char consumer_times[EVB_PATH_SIZE]; // system: file of the law histogram
};

// A message between different hosts. Models use `kind`, `slot` and `about` as they like; the
// network returns the message as it is.
struct sim_message {
	uint32_t from, to; // hosts
	uint32_t bytes;    // above 0
	uint32_t about;
	uint16_t slot;
	uint8_t kind; // 0: data; otherwise control
};

struct sim_traffic_parameters {
	struct sim_traffic_settings settings;
	uint32_t n_hosts;        // at least 2
	double bytes_per_second; // of messages, that the link of a host can carry
	uint64_t seed;
	struct sim_engine *engine;       // must outlive the model
	const struct sim_tracer *tracer; // same; NULL: none
	// Sends a message behind all that its host has sent. The network must call
	// sim_traffic_sent() and sim_traffic_delivered(), but not within this call.
	void (*send)(void *network, const struct sim_message *message);
	void *network;
};

// What the model itself has seen so far.
struct sim_traffic_account {
	uint64_t begun;           // events of daqpipe, rounds of incast; 0 for other models
	uint64_t complete;        // of these
	struct histogram latency; // ns: of those that are complete, from their begin
};

struct sim_traffic;

// Creates a model; it begins to send at the present time. NULL: no memory.
struct sim_traffic *sim_traffic_create(const struct sim_traffic_parameters *parameters);
void sim_traffic_destroy(struct sim_traffic *traffic);

// The last byte of the message has left its host.
void sim_traffic_sent(struct sim_traffic *traffic, const struct sim_message *message);

// The message has arrived completely.
void sim_traffic_delivered(struct sim_traffic *traffic, const struct sim_message *message);

// Sets the account to 0.
void sim_traffic_begin(struct sim_traffic *traffic);

const struct sim_traffic_account *sim_traffic_account(const struct sim_traffic *traffic);
