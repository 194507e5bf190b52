// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "packet/admission.h"

#include <stdlib.h>
#include <string.h>

#define TICKS_AHEAD 16u

static bool is_of(const struct source_from *from, uint16_t id)
{
	for (unsigned i = 0; i < from->n_ids; i++)
		if (id >= from->ids[i].first && id <= from->ids[i].last)
			return true;
	return from->n_ids == 0;
}

// Fills the lists of rules by source. rule_of NULL: only counts. Returns the sum of their lengths.
static uint32_t list_rules(struct admission *admission, const struct source_table *sources,
			   unsigned n_from, uint16_t *rule_of)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < sources->n_expected; i++) {
		admission->first[i] = n;
		for (unsigned rule = 0; rule < n_from; rule++) {
			if (!is_of(&admission->from[rule], sources->ids[i]))
				continue;
			if (rule_of != NULL)
				rule_of[n] = (uint16_t)rule;
			n++;
		}
	}
	admission->first[sources->n_expected] = n;
	return n;
}

// The bits of the key in which a source must not change. Ports and VLANs of sources without rules
// about them may.
static uint64_t mask_of(const struct admission *admission, unsigned source)
{
	uint64_t ports = 0xFFFFull << ORIGIN_PORT_SHIFT, vlans = 0xFFFull << ORIGIN_VLAN_SHIFT;
	uint64_t mask = ~((admission->has_ports ? ports : 0) | vlans);

	for (uint32_t i = admission->first[source]; i < admission->first[source + 1]; i++) {
		const struct source_from *from = &admission->from[admission->rule_of[i]];

		mask |= (from->has_udp_port ? ports : 0) | (from->has_vlan ? vlans : 0);
	}
	return mask;
}

bool admission_make(struct admission *admission, const struct source_table *sources,
		    const struct source_from *from, unsigned n_from, uint64_t silence_cycles)
{
	uint32_t n;

	*admission = (struct admission){
		.from = from,
		.silence = admission_tick(silence_cycles),
		.entries = aligned_alloc(ADMISSION_LINE,
					 sources->n_expected * sizeof(*admission->entries)),
		.first = calloc(sources->n_expected + 1, sizeof(*admission->first)),
	};
	if (admission->entries == NULL || admission->first == NULL)
		return false;
	n = list_rules(admission, sources, n_from, NULL);
	admission->rule_of = calloc(n + 1, sizeof(*admission->rule_of));
	if (admission->rule_of == NULL)
		return false;
	list_rules(admission, sources, n_from, admission->rule_of);
	for (unsigned i = 0; i < n_from; i++) {
		admission->has_ports |= from[i].has_udp_port;
		admission->has_tags |= from[i].has_udp_port || from[i].has_vlan;
	}
	for (unsigned i = 0; i < sources->n_expected; i++)
		admission->entries[i] = (struct admission_entry){
			.origin.key = ADMISSION_NOBODY,
			.mask = mask_of(admission, i),
		};
	return true;
}

void admission_free(struct admission *admission)
{
	free(admission->entries);
	free(admission->first);
	free(admission->rule_of);
	*admission = (struct admission){ 0 };
}

static enum net_kind kind_of(const struct origin *origin)
{
	unsigned kind = (unsigned)(origin->key >> ORIGIN_KIND_SHIFT);

	return kind == 0 ? NET_UDP4 : (enum net_kind)kind;
}

struct source_address origin_to_address(const struct origin *origin)
{
	struct source_address address = { .kind = SOURCE_ADDRESS_MAC, .prefix = 48 };
	uint64_t first = origin->key & ((1ull << 48) - 1);

	if (kind_of(origin) == NET_UDP4) {
		address.kind = SOURCE_ADDRESS_IP4;
		address.prefix = 32;
		first = (uint32_t)origin->key;
	} else if (kind_of(origin) == NET_UDP6) {
		address.kind = SOURCE_ADDRESS_IP6;
		address.prefix = 128;
		first = origin->ip6[0];
	}
	store_le64(address.bytes, first);
	store_le64(address.bytes + 8, origin->ip6[1]);
	return address;
}

uint16_t origin_port(const struct origin *origin)
{
	return kind_of(origin) == NET_ETHER_PAYLOAD ? 0
						    : (uint16_t)(origin->key >> ORIGIN_PORT_SHIFT);
}

static bool is_at(const struct source_address *address, const struct origin *origin)
{
	struct source_address sender = origin_to_address(origin);
	unsigned whole = address->prefix / 8, rest = address->prefix % 8;

	return sender.kind == address->kind && memcmp(sender.bytes, address->bytes, whole) == 0 &&
	       (rest == 0 || (sender.bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0);
}

static bool allows(const struct source_from *from, const struct origin *origin)
{
	uint16_t port = origin_port(origin);

	if (from->has_udp_port && (uint16_t)(port - from->udp_port) >= from->udp_ports)
		return false;
	if (from->has_vlan && (origin->key >> ORIGIN_VLAN_SHIFT & 0xFFF) != from->vlan)
		return false;
	for (unsigned i = 0; i < from->n_addresses; i++)
		if (is_at(&from->addresses[i], origin))
			return true;
	return from->n_addresses == 0;
}

static bool rules_allow(const struct admission *admission, unsigned source,
			const struct origin *origin)
{
	uint32_t first = admission->first[source], end = admission->first[source + 1];

	for (uint32_t i = first; i < end; i++)
		if (allows(&admission->from[admission->rule_of[i]], origin))
			return true;
	return first == end;
}

// Changes the origin of a source, unless another rx role changes it at the same moment. The
// comparison in admission_knows() may see parts of the old and the new origin: these together are
// no origin of a packet.
static bool change(struct admission_entry *entry, uint32_t writes, const struct origin *origin,
		   uint32_t tick)
{
	if (writes % 2 != 0 ||
	    !__atomic_compare_exchange_n(&entry->writes, &writes, writes + 1, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&entry->seen, tick, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->origin.ip6[0], origin->ip6[0], __ATOMIC_RELAXED);
	__atomic_store_n(&entry->origin.ip6[1], origin->ip6[1], __ATOMIC_RELAXED);
	__atomic_store_n(&entry->origin.key, origin->key, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->writes, writes + 2, __ATOMIC_RELEASE);
	return true;
}

// Whether the source has an origin, and sent from there until lately.
static bool is_in_use(const struct admission *admission, const struct admission_entry *entry,
		      uint32_t tick)
{
	// Another rx role may be some ticks ahead.
	uint32_t silent = tick - __atomic_load_n(&entry->seen, __ATOMIC_RELAXED) + TICKS_AHEAD;

	return counter_read(&entry->origin.key) != ADMISSION_NOBODY &&
	       silent <= admission->silence + TICKS_AHEAD;
}

enum segment_cause admission_judge(const struct admission *admission, unsigned source,
				   const uint8_t *bytes, const struct net_frame *frame,
				   uint32_t tick, enum source_moves moves)
{
	struct admission_entry *entry = &admission->entries[source];
	struct origin origin = origin_of(bytes, frame);
	uint32_t writes;

	if (!rules_allow(admission, source, &origin))
		return SEGMENT_NOT_ADMITTED;
	if (!admission->has_tags)
		origin.key = origin_address(bytes, frame); // as admission_knows() reads it
	do {
		writes = __atomic_load_n(&entry->writes, __ATOMIC_ACQUIRE);
		if (admission_knows(admission, source, bytes, frame, tick))
			return SEGMENT_N_CAUSES; // another rx role has admitted it meanwhile
		if (writes % 2 == 0 && moves == SOURCE_MOVES_REFUSED &&
		    is_in_use(admission, entry, tick))
			return SEGMENT_MOVED_SOURCE;
	} while (!change(entry, writes, &origin, tick));
	return SEGMENT_N_CAUSES;
}
