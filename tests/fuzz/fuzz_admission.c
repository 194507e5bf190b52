// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as frames of segments that meet any rules on who may send: only the headers at hand are
// read, and whatever came before, a frame is admitted only if a rule of its source allows it,
// read here field by field; a source moves only where it may.
//
// Input: byte 0, bit 0: sources may move; bits 1 and 2: the number of rules. Each rule has 12
// bytes: u8 flags, u8 prefix, u8 last id, u16 UDP port (little endian), u8 ports, u8 VLAN, u8[5]
// address. Then frames: u16 size (little endian), u8 bytes that are not at hand, u8 time, the
// bytes.
#include "fuzz.h"

#include "packet/admission.h"
#include "rx/segment_decode.h"

#define SOURCES    2u
#define FIRST_ID   10u
#define MOST_RULES 3u
#define RULE_SIZE  12u
#define SILENCE    ((uint64_t)8 << ADMISSION_TICK_SHIFT)

struct bench {
	struct source_from rules[MOST_RULES];
	unsigned n_rules;
	struct admission admission;
	bool may_move;
	bool heard[SOURCES];
	uint32_t tick;
};

static struct source_table sources;

static void read_rule(struct source_from *rule, const uint8_t *bytes)
{
	static const unsigned bits[] = { 33, 129, 49 };
	const unsigned kind = bytes[0] >> 3 & 3;

	*rule = (struct source_from){ .ids = { { FIRST_ID, bytes[2] } },
				      .n_ids = bytes[0] & 1,
				      .has_udp_port = bytes[0] & 2,
				      .udp_port = load_le16(bytes + 3),
				      .udp_ports = bytes[5],
				      .has_vlan = bytes[0] & 4,
				      .vlan = bytes[6] };
	if (kind == 3)
		return;
	rule->n_addresses = 1;
	rule->addresses[0].kind = (enum source_address_kind)kind;
	rule->addresses[0].prefix = (uint8_t)(bytes[1] % bits[kind]);
	memcpy(rule->addresses[0].bytes, bytes + 7, 5);
	if (kind == SOURCE_ADDRESS_IP4)
		rule->addresses[0].bytes[4] = 0;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1)
			return false;
	return true;
}

static bool is_from(const struct source_address *address, const uint8_t *bytes,
		    const struct net_frame *frame)
{
	switch (address->kind) {
	case SOURCE_ADDRESS_IP4:
		return frame->kind == NET_UDP4 &&
		       same_bits(bytes + frame->l3_offset + 12, address->bytes, address->prefix);
	case SOURCE_ADDRESS_IP6:
		return frame->kind == NET_UDP6 &&
		       same_bits(bytes + frame->l3_offset + 8, address->bytes, address->prefix);
	default:
		return frame->kind == NET_ETHER_PAYLOAD &&
		       same_bits(bytes + 6, address->bytes, address->prefix);
	}
}

static bool rule_allows(const struct source_from *rule, const uint8_t *bytes,
			const struct net_frame *frame)
{
	const unsigned port = frame->kind == NET_ETHER_PAYLOAD ? 0 : frame->source_port;

	if (rule->has_udp_port && (uint16_t)(port - rule->udp_port) >= rule->udp_ports)
		return false;
	if (rule->has_vlan && (frame->vlan_tci & 0xFFF) != rule->vlan)
		return false;
	return rule->n_addresses == 0 || is_from(&rule->addresses[0], bytes, frame);
}

static bool rules_allow(const struct bench *bench, unsigned source, const uint8_t *bytes,
			const struct net_frame *frame)
{
	const unsigned id = FIRST_ID + source;
	bool any = false;

	for (unsigned i = 0; i < bench->n_rules; i++) {
		const struct source_from *rule = &bench->rules[i];

		if (rule->n_ids > 0 && (id < rule->ids[0].first || id > rule->ids[0].last))
			continue;
		if (rule_allows(rule, bytes, frame))
			return true;
		any = true;
	}
	return !any;
}

static void judge(struct bench *bench, unsigned source, const uint8_t *bytes,
		  const struct net_frame *frame)
{
	const bool allowed = rules_allow(bench, source, bytes, frame);
	const struct admission *admission = &bench->admission;
	enum segment_cause cause;

	if (admission_knows(admission, source, bytes, frame, bench->tick)) {
		FUZZ_CHECK(allowed && bench->heard[source]);
		return;
	}
	cause = admission_judge(admission, source, bytes, frame, bench->tick,
				bench->may_move ? SOURCE_MOVES_ALLOWED : SOURCE_MOVES_REFUSED);
	FUZZ_CHECK((cause == SEGMENT_NOT_ADMITTED) == !allowed);
	if (cause == SEGMENT_MOVED_SOURCE)
		FUZZ_CHECK(bench->heard[source] && !bench->may_move);
	if (cause != SEGMENT_N_CAUSES)
		return;
	bench->heard[source] = true;
	FUZZ_CHECK(admission_knows(admission, source, bytes, frame, bench->tick));
}

// A frame of which only the first bytes are contiguous.
static void receive(struct bench *bench, const uint8_t *data, size_t at_hand, size_t size)
{
	uint8_t *bytes = fuzz_copy(data, at_hand);
	struct segment segment;
	struct net_frame frame;

	if (net_parse(bytes, at_hand, size, NET_TYPE_EVB, &frame) == WIRE_OK &&
	    (frame.kind == NET_UDP4 || frame.kind == NET_UDP6 || frame.kind == NET_ETHER_PAYLOAD) &&
	    rx_segment_decode(bytes, (uint32_t)at_hand, &frame, &sources, &segment) == WIRE_OK) {
		FUZZ_CHECK(segment.size >= 1 && segment.payload <= at_hand);
		FUZZ_CHECK((size_t)segment.payload + segment.size <= size);
		FUZZ_CHECK((uint64_t)segment.offset + segment.size <= segment.length);
		if (segment.source < SOURCES)
			judge(bench, segment.source, bytes, &frame);
		else
			FUZZ_CHECK(segment.source == SOURCE_UNKNOWN);
	}
	fuzz_free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t ids[SOURCES] = { FIRST_ID, FIRST_ID + 1 };
	static const bool expected[SOURCES] = { true, true };
	struct bench bench = { .tick = 100 };
	size_t at = 1;

	if (size == 0)
		return 0;
	if (sources.n_expected == 0)
		source_table_make(&sources, ids, expected, SOURCES);
	bench.may_move = data[0] & 1;
	while (bench.n_rules < (data[0] >> 1 & 3) && size - at >= RULE_SIZE) {
		read_rule(&bench.rules[bench.n_rules++], data + at);
		at += RULE_SIZE;
	}
	FUZZ_CHECK(admission_make(&bench.admission, &sources, bench.rules, bench.n_rules, SILENCE));
	while (size - at >= 4) {
		size_t n = load_le16(data + at), missing = data[at + 2];

		bench.tick += data[at + 3];
		at += 4;
		n = n < size - at ? n : size - at;
		receive(&bench, data + at, n - (missing < n ? missing : n), n);
		at += n;
	}
	admission_free(&bench.admission);
	return 0;
}
