// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// libevb-reader: iterates a built event (MEP, multi-event packet), in a slot of the event ring or
// in a file of MEPs. A program that uses these functions computes no offset itself.
//
//     struct evb_mep mep;
//     struct evb_source source;
//     struct evb_fragment fragment;
//
//     if (evb_mep_open(&mep, event.data, event.length) != 0)
//         return bad();
//     for (unsigned i = 0; i < mep.n_sources; i++) {
//         if (evb_mep_source(&mep, i, &source) != 0)
//             return bad();
//         while (evb_source_next(&source, &fragment) == 1)
//             use(source.id, fragment.event_id, fragment.data, fragment.length);
//     }
//
// A MEP contains `n_events` consecutive events: each source has one fragment per event. To process
// one event after the other, open all sources into an array, and take one fragment of each in turn.
//
// No function allocates memory, changes the event, or has state; any thread may call any of them.
// Each step checks the values that it reads against the size of the MEP, and reads each of them
// once. So the bytes may be any bytes, and a spy may iterate an event that the builder overwrites
// meanwhile: it gets wrong fragments or -EBADMSG, but no pointer outside the event.
// evb_event_intact() reports afterwards whether the fragments were the right ones.
//
// Formats of MFP and MEP: LHCb Run 3 (EDMS 2100937); evb's docs/formats.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A MEP. Its pointers, and those of the structs below, point into the event, and are valid as long
// as the event is.
struct evb_mep {
	const void *data;
	size_t length;     // bytes of the MEP, at most those given to evb_mep_open()
	uint64_t event_id; // of the first event
	uint16_t n_sources;
	uint16_t n_events; // fragments per source; 0 if all sources sent opaque blocks
};

// Flags of a source.
// The source sent nothing usable: an error MFP stands in its place, with empty fragments of type 92
// (missing) or 95 (malformed).
#define EVB_SOURCE_MISSING 0x1u
// Set beside EVB_SOURCE_MISSING if the fragments have type 95: the source sent bytes that are not a
// valid MFP.
#define EVB_SOURCE_MALFORMED 0x2u
// The source sent a block without fragments (payload kind `opaque`): the bytes of `payload`.
#define EVB_SOURCE_OPAQUE 0x4u

// What one source sent: an MFP, multi-fragment packet.
struct evb_source {
	uint16_t id;           // subdetector (5 bits) << 11 | number (11 bits)
	uint16_t n_fragments;  // that of the MEP's events, or 0 (opaque)
	uint8_t version;       // of the fragments
	uint8_t align_log2;    // fragments begin at multiples of 2^align_log2 bytes of the payload
	uint32_t flags;        // EVB_SOURCE_...
	uint64_t event_id;     // of the first fragment
	const void *data;      // the whole MFP
	size_t length;         // bytes of the whole MFP
	const uint8_t *types;  // n_fragments types
	const void *sizes;     // n_fragments little-endian 16-bit numbers, in bytes
	const void *payload;   // the fragments, or the opaque block
	size_t payload_length; // bytes
	size_t next_offset;    // for evb_source_next(): offset in the payload
	uint32_t next_index;   // for evb_source_next(): number of the fragment
};

struct evb_fragment {
	uint64_t event_id;
	const void *data;
	uint16_t length; // bytes, without padding
	uint8_t type;    // LHCb bank type; docs/formats.md lists them
};

// The fragment of ODIN, version 7: the time and the kind of one event.
struct evb_odin {
	uint32_t run;
	uint16_t event_type;
	uint16_t step;
	uint64_t gps_us; // microseconds
	uint32_t tck;
	uint32_t partition;
	uint32_t bunch; // 12 bits
	uint32_t orbit;
	uint64_t event_id;
};

// Reads the header of the MEP that begins at `data`; `length` bytes may be read there.
// Returns 0, or -EBADMSG if the bytes are not a MEP or do not fit.
int evb_mep_open(struct evb_mep *mep, const void *data, size_t length);

// Reads the header of source `index`, in the order of the MEP, which is any order. Fragments are
// then read from the first one on.
// Returns 0, -EINVAL if index >= n_sources, or -EBADMSG if the source does not lie inside the MEP,
// differs from the MEP in event id or number of fragments, or from the MEP's table in its id.
int evb_mep_source(const struct evb_mep *mep, unsigned index, struct evb_source *source);

// Finds the first source of this id by a scan of the table of ids. Returns what evb_mep_source()
// returns, or -ENOENT.
int evb_mep_find(const struct evb_mep *mep, uint16_t source_id, struct evb_source *source);

// Reads the next fragment of a source. Returns 1 with a fragment, 0 after the last one, -EBADMSG if
// the fragment does not lie inside the source's MFP.
int evb_source_next(struct evb_source *source, struct evb_fragment *fragment);

// Decodes the fragment of ODIN. Returns 1, or 0 if this is no ODIN fragment (type 16, 40 bytes).
int evb_odin_decode(const struct evb_fragment *fragment, struct evb_odin *odin);

// Finds ODIN's fragment of event `index` < n_events of the MEP, among the sources of subdetector 0,
// and decodes it. Returns 1, 0 if the event has none, -EINVAL if index >= n_events, -EBADMSG.
int evb_mep_odin(const struct evb_mep *mep, unsigned index, struct evb_odin *odin);

#ifdef __cplusplus
}
#endif
