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
#include "base/histogram.h"
#include "packet/causes.h"

struct account {
	double seconds;
	// packets.received = arp + icmp_echo + control + pause + roce + other + drops
	//                    + segments.received - segments.local
	struct {
		uint64_t received, bytes, arp, icmp_echo, control, pause, roce, other;
		uint64_t checksums_unfinished; // of accepted packets
		uint64_t drops[PACKET_N_CAUSES];
		uint64_t missed; // lost by the ports before evb received them (port_missed())
	} packets;
	// segments.received = placed + sum of drops + segments in links
	struct {
		uint64_t received, placed, placed_bytes;
		uint64_t local; // part of `received`: from readouts of the same process
		uint64_t drops[SEGMENT_N_CAUSES];
	} segments;
	// events.opened = complete + incomplete + discarded + ends_of_run + open
	struct {
		uint64_t opened, complete, incomplete, discarded, flushed, overtaken, ends_of_run;
		uint64_t open; // at the time of reading
		// Parts of complete + incomplete:
		uint64_t withdrawn; // another node built the event, so it was not published here
		uint64_t repeated;  // published here, and possibly on another node, too
	} events;
	struct {
		uint64_t whole, malformed, missing;
	} blocks;
	uint64_t bytes_built;
	uint64_t free_slots;
	struct histogram complete; // first segment to completion, ns
	struct histogram released; // first segment to release, ns
	// Sent by the generators of this process.
	struct {
		uint64_t events, packets, bytes, lost, duplicated, corrupted, reordered;
		uint64_t unacknowledged; // RoCE messages that the peer never acknowledged
	} sent;
	struct {
		uint64_t events, bytes, files, refused, failures;
		uint64_t lost; // in files whose sync failed
	} written;
};

struct account_source {
	uint16_t id;
	uint64_t segments; // received, with this source id
	uint64_t placed;
	uint64_t placed_bytes;
	uint64_t drops[SEGMENT_N_CAUSES];
	uint64_t blocks;    // whole blocks
	uint64_t malformed; // whole blocks that are not valid MFPs
	uint64_t missing;   // events closed without a block of this source
};

// *account is large: do not put it on a small stack.
void account_take(const struct appliance *appliance, struct account *account);

// The counters of expected source number `index`, less than appliance->sources.n_expected.
void account_take_source(const struct appliance *appliance, unsigned index,
			 struct account_source *source);

// Sum over all drop causes of segments and packets. It does not include packets.missed.
uint64_t account_losses(const struct account *account);

// Whether anything was lost: a segment or packet was dropped, a port missed a packet, an event is
// not complete, or an event was not written to its file.
bool account_has_losses(const struct account *account);

// The account as JSON text, for `evb run --summary`. The caller frees it. NULL if memory ran out.
// Its key `losses` is account_has_losses().
char *account_summary(const struct appliance *appliance);
