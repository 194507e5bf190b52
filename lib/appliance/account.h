// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The account: all counters of an appliance, summed over its roles, as telemetry, the progress
// line, the summary and the final words show them. docs/packets.md has the identities.
//
// Any thread, while the appliance is started. While it runs, the sums are taken counter by counter
// and may be off by what happens in between; at rest they are exact.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "appliance/appliance.h"
#include "base/histogram.h"
#include "packet/causes.h"

struct account {
	double seconds;
	// packets.received = arp + icmp_echo + control + pause + roce + other + drops
	//                    + segments.received - segments.local
	struct {
		uint64_t received, bytes, arp, icmp_echo, control, pause, roce, other;
		uint64_t drops[PACKET_N_CAUSES];
		uint64_t missed; // by the ports themselves, before evb saw them (port_missed())
	} packets;
	// segments.received = placed + sum of drops + those in links
	struct {
		uint64_t received, placed, placed_bytes;
		uint64_t local; // of received: from readouts of the same process
		uint64_t drops[SEGMENT_N_CAUSES];
	} segments;
	// events.opened = complete + incomplete + discarded + ends_of_run + open
	struct {
		uint64_t opened, complete, incomplete, discarded, flushed, overtaken, ends_of_run;
		uint64_t open; // now
		// Of complete and incomplete: built elsewhere, not published here.
		uint64_t withdrawn;
		uint64_t repeated; // of the same two: published, perhaps elsewhere too
	} events;
	struct {
		uint64_t whole, malformed, missing;
	} blocks;
	uint64_t bytes_built;
	uint64_t free_slots;
	struct histogram complete; // first segment to completion, ns
	struct histogram released; // first segment to release, ns
	// what this process' generators sent
	struct {
		uint64_t events, packets, bytes, lost, duplicated, corrupted, reordered;
		uint64_t unacknowledged; // RoCE messages that did not get through
	} sent;
	struct {
		uint64_t events, bytes, files, refused, failures;
	} written;
};

struct account_source {
	uint16_t id;
	uint64_t segments; // that rx recognised
	uint64_t placed;
	uint64_t placed_bytes;
	uint64_t drops[SEGMENT_N_CAUSES];
	uint64_t blocks;    // whole
	uint64_t malformed; // of them no valid MFP
	uint64_t missing;   // events closed without it
};

// *account is large: not for small stacks.
void account_take(const struct appliance *appliance, struct account *account);

// The source of index < appliance->sources.n_expected.
void account_take_source(const struct appliance *appliance, unsigned index,
			 struct account_source *source);

// Sum of all drop causes, of segments and packets; what the ports missed is not in it.
uint64_t account_losses(const struct account *account);

// Whether anything was lost: a drop, a packet that a port missed, an event that is not complete, or
// one that is not in the file it should be in.
bool account_has_losses(const struct account *account);

// The account as JSON text, as `evb run --summary` writes it; the caller frees it. NULL if memory
// ran out. `losses` in it is account_has_losses().
char *account_summary(const struct appliance *appliance);
