// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The senders of segments that were refused because of who sent them: of unknown sources, or of
// sources that do not send from there. A table of fixed size, by address: a sender that was refused
// often stays, and others replace each other.
#pragma once

#include "base/seqlock.h"
#include "packet/admission.h"

#define STRANGERS_SETS 16u
#define STRANGERS_WAYS 4u
#define STRANGERS_MOST (STRANGERS_SETS * STRANGERS_WAYS)

struct stranger {
	struct origin origin;
	uint64_t segments; // refused; 0: the place is empty
	uint32_t source;   // id of the latest refused segment, or STRANGER_NO_ID
	uint32_t cause;    // of the latest, enum segment_cause
};

#define STRANGER_NO_ID UINT32_MAX

struct strangers {
	struct seqlock lock;
	struct stranger places[STRANGERS_MOST];
};

// Counts a refused segment. `source`: its id, or STRANGER_NO_ID. The rx role's lcore.
void strangers_note(struct strangers *strangers, const struct origin *origin, uint32_t source,
		    enum segment_cause cause);

// Reads place `index`. False if it is empty. Any thread.
bool strangers_read(const struct strangers *strangers, unsigned index, struct stranger *stranger);
