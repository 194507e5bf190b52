// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Rules of a run for blocks and events, which the configuration states and the builders apply.
#pragma once

// What a block holds.
enum payload_kind {
	PAYLOAD_MFP,    // an MFP, which is validated when it is whole
	PAYLOAD_OPAQUE, // any bytes
};

// What happens to an event that misses blocks at its deadline.
enum on_incomplete {
	INCOMPLETE_FLAG,    // it is published with a flag, and error MFPs replace the missing MFPs
	INCOMPLETE_DISCARD, // it is counted and dropped
};

// What happens to a segment for which no slot is free.
enum on_no_slot {
	NO_SLOT_WAIT, // the builder accepts no segments until consumers release a slot
	NO_SLOT_DROP, // it is dropped and counted
};
