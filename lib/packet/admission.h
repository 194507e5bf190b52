// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Admission of senders: whether a segment comes from where its source may send. The table has the
// origin of the latest admitted segment of each source. A segment of the same origin is admitted by
// one comparison (admission_knows()); only another origin is judged by the rules
// (admission_judge()).
//
// One table for all rx roles of a process: a source may arrive at several queues or ports.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "base/counter.h"
#include "packet/causes.h"
#include "packet/source_from.h"
#include "packet/source_table.h"
#include "wire/net.h"

// Times are in ticks of this many TSC cycles, modulo 2^32.
#define ADMISSION_TICK_SHIFT 26

static inline uint32_t admission_tick(uint64_t tsc)
{
	return (uint32_t)(tsc >> ADMISSION_TICK_SHIFT);
}

// The sender of a packet: its IP address, or its Ethernet address behind an EtherType.
struct origin {
	// IPv4: bits 0 to 31 are the address; IPv4 and IPv6: bits 32 to 47 the UDP source port;
	// Ethernet: bits 0 to 47 are the address. All: bits 48 to 59 are the VLAN, 60 to 63 the
	// kind (enum net_kind), for IPv4 0. Addresses are read by load_le32() and load_le64().
	uint64_t key;
	uint64_t ip6[2]; // IPv6 only, else 0
};

#define ORIGIN_PORT_SHIFT 32
#define ORIGIN_VLAN_SHIFT 48
#define ORIGIN_KIND_SHIFT 60

static inline uint64_t origin_tags(const struct net_frame *frame)
{
	uint64_t port = frame->kind == NET_ETHER_PAYLOAD ? 0 : frame->source_port;

	return port << ORIGIN_PORT_SHIFT | (frame->vlan_tci & 0xFFFull) << ORIGIN_VLAN_SHIFT;
}

// `bytes`: the headers of a frame that net_parse() accepted as NET_UDP4, NET_UDP6 or
// NET_ETHER_PAYLOAD.
static inline uint64_t origin_address(const uint8_t *bytes, const struct net_frame *frame)
{
	if (likely(frame->kind == NET_UDP4))
		return load_le32(bytes + frame->l3_offset + 12);
	if (frame->kind == NET_UDP6)
		return (uint64_t)NET_UDP6 << ORIGIN_KIND_SHIFT;
	return load_le32(bytes + 6) | (uint64_t)load_le16(bytes + 10) << 32 |
	       (uint64_t)NET_ETHER_PAYLOAD << ORIGIN_KIND_SHIFT;
}

static inline struct origin origin_of(const uint8_t *bytes, const struct net_frame *frame)
{
	struct origin origin = {
		.key = origin_address(bytes, frame) | origin_tags(frame),
	};

	if (frame->kind == NET_UDP6) {
		origin.ip6[0] = load_le64(bytes + frame->l3_offset + 8);
		origin.ip6[1] = load_le64(bytes + frame->l3_offset + 16);
	}
	return origin;
}

// The address of an origin, with all its bits.
struct source_address origin_to_address(const struct origin *origin);

// The UDP source port; 0 behind an EtherType.
uint16_t origin_port(const struct origin *origin);

#define ADMISSION_LINE   64 // bytes of a cache line
#define ADMISSION_NOBODY UINT64_MAX

// Writers: the rx roles, by atomic operations.
struct admission_entry {
	struct origin origin; // key ADMISSION_NOBODY: the source has sent nothing yet
	uint64_t mask;        // bits of the key that are compared
	uint32_t seen;        // tick of the latest segment
	uint32_t writes;      // odd while an rx role changes the origin
} __attribute__((aligned(ADMISSION_LINE)));

struct admission {
	struct admission_entry *entries; // by index of the source
	const struct source_from *from;  // the rules
	uint32_t *first;                 // [n_sources + 1]: into rule_of
	uint16_t *rule_of;               // numbers of the rules of source i: from first[i] on
	uint32_t silence;                // ticks after which another origin is admitted
	bool has_ports, has_tags;        // some rule states ports; ports or VLANs
};

// `from` outlives the table. Control thread. False if memory ran out.
bool admission_make(struct admission *admission, const struct source_table *sources,
		    const struct source_from *from, unsigned n_from, uint64_t silence_cycles);
// Frees what admission_make() allocated; a zeroed structure is allowed.
void admission_free(struct admission *admission);

// Rarely writes: several rx roles may share the cache line.
static inline void admission_note_time(struct admission_entry *entry, uint32_t tick)
{
	if (unlikely(__atomic_load_n(&entry->seen, __ATOMIC_RELAXED) != tick))
		__atomic_store_n(&entry->seen, tick, __ATOMIC_RELAXED);
}

// Whether the latest admitted segment of the source had the origin of this frame. rx roles.
static inline bool admission_knows(const struct admission *admission, unsigned source,
				   const uint8_t *bytes, const struct net_frame *frame,
				   uint32_t tick)
{
	struct admission_entry *entry = &admission->entries[source];
	uint64_t key = origin_address(bytes, frame), other;

	if (unlikely(admission->has_tags))
		key |= origin_tags(frame);
	other = (counter_read(&entry->origin.key) ^ key) & entry->mask;
	if (unlikely(frame->kind == NET_UDP6)) {
		const uint8_t *ip = bytes + frame->l3_offset;

		other |= counter_read(&entry->origin.ip6[0]) ^ load_le64(ip + 8);
		other |= counter_read(&entry->origin.ip6[1]) ^ load_le64(ip + 16);
	}
	if (unlikely(other != 0))
		return false;
	admission_note_time(entry, tick);
	return true;
}

// Judges a segment that admission_knows() does not know. SEGMENT_N_CAUSES: it is admitted, and its
// origin known from now on. SEGMENT_NOT_ADMITTED: no rule of its source allows the origin.
// SEGMENT_MOVED_SOURCE: unless `moves` is SOURCE_MOVES_ALLOWED, the source sends from another
// origin, and was not silent for long enough. rx roles.
enum segment_cause admission_judge(const struct admission *admission, unsigned source,
				   const uint8_t *bytes, const struct net_frame *frame,
				   uint32_t tick, enum source_moves moves);
