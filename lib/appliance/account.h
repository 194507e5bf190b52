// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The account: all counters of an appliance, summed over its roles. Telemetry, the progress line,
// the summary and the final account show it. docs/packets.md explains the identities between the
// sums.
//
// Any thread, between appliance_start() and appliance_stop(). Counters are read one after the
// other, so that an identity may be off by a few packets while the appliance runs. When all roles
// have drained, the sums are exact.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "appliance/appliance.h"
#include "builder/assembly.h"
#include "record/results_role.h"
#include "record/results_sender_role.h"
#include "record/writer_role.h"
#include "rx/counters.h"
#include "tx/sender.h"

struct account {
	double seconds;
	// rx.packets = arp + icmp_echo + control + pause + roce + other + packet_drops
	//              + rx.segments
	struct rx_counters rx;
	uint64_t missed; // packets lost by the ports before evb received them (port_missed())
	// segments_received = built.placed + sum of segment_drops + segments in links
	uint64_t segments_received;               // rx.segments, and the local ones
	uint64_t segments_local;                  // from readouts of the same process
	uint64_t segment_drops[SEGMENT_N_CAUSES]; // by rx roles and builders
	// built.events_opened = complete + incomplete + discarded + ends_of_run + open
	struct assembly_counters built;
	struct assembly_latency latency;
	uint64_t events_open; // at the time of reading
	uint64_t free_slots;
	// Sent by the generators of this process.
	struct sender_counters sent;
	uint64_t sent_events;
	uint64_t unacknowledged; // RoCE messages that the peer never acknowledged
	uint64_t unsent;         // RoCE messages without a connection; known after the drain
	struct writer_counters written;
	struct decision_order_counters ordered; // by results roles
	struct decision_stream_counters results;
	struct results_sender_counters results_sent; // to the node that writes them
};

struct account_source {
	uint16_t id;
	uint64_t segments;                     // received, with this source id
	struct assembly_source_counters built; // its drops include those of rx roles
};

// The decisions of one deciding group, of all builders: published = accepted + rejected + undecided
// + held. See evring_decisions().
struct account_decisions {
	const struct config_group *group;
	uint64_t members; // consumers in the group
	uint64_t published;
	uint64_t accepted, rejected, undecided;
	uint64_t held; // published, and not free of all consumers yet
	uint64_t lines[EVRING_N_LINES];
	struct histogram time;
};

// *account is large: do not put it on a small stack.
void account_take(const struct appliance *appliance, struct account *account);

// The counters of expected source number `index`, less than appliance->sources.n_expected.
void account_take_source(const struct appliance *appliance, unsigned index,
			 struct account_source *source);

// The decisions of deciding group number `index`. Returns false if there is none of this index.
bool account_take_decisions(const struct appliance *appliance, unsigned index,
			    struct account_decisions *decisions);

// Sum over all drop causes of segments and packets. It does not include `missed`.
uint64_t account_losses(const struct account *account);

// Whether anything was lost: a segment or packet was dropped, a port missed a packet, an event is
// not complete, or an event was not written to its file.
bool account_has_losses(const struct account *account);

// The account as JSON text, for `evb run --summary`. The caller frees it. NULL if memory ran out.
// Its key `losses` is account_has_losses().
char *account_summary(const struct appliance *appliance);
