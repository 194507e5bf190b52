// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From where sources may send, as the configuration states it (`sources.from`). Without DPDK, so
// that the configuration can include it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SOURCE_FROM_MOST      1024 // entries
#define SOURCE_FROM_ADDRESSES 16   // of an entry
#define SOURCE_FROM_RANGES    64   // of source ids of an entry

enum source_address_kind {
	SOURCE_ADDRESS_IP4,
	SOURCE_ADDRESS_IP6,
	SOURCE_ADDRESS_MAC,
};

// An address, or all addresses with the same first bits.
struct source_address {
	enum source_address_kind kind;
	uint8_t bytes[16]; // as on the wire, 4, 16 or 6 of them, then zeros
	uint8_t prefix;    // bits that are compared
};

struct source_id_range {
	uint16_t first, last;
};

// A packet is from there if it fulfils all that is stated.
struct source_from {
	struct source_id_range ids[SOURCE_FROM_RANGES]; // the sources; none: all
	unsigned n_ids;
	struct source_address addresses[SOURCE_FROM_ADDRESSES]; // one of them; none: any
	unsigned n_addresses;
	bool has_udp_port;
	uint16_t udp_port;  // first source port
	uint16_t udp_ports; // number of source ports
	bool has_vlan;
	uint16_t vlan; // of the outermost tag; 0: untagged, or priority only
};

// What happens if a source sends from another address than before.
enum source_moves {
	SOURCE_MOVES_REFUSED, // the other address is refused until the first was silent for a while
	SOURCE_MOVES_ALLOWED,
};
