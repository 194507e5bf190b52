// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of the logic share: readout_logic.c (life), announce.c (the run,
// announcing, grants), grants.c (the order of sending) and step.c (sending).
#pragma once

#include "readout/readout_logic.h"

// Drops all grants that wait.
void readout_forget_grants(struct readout_logic *logic);

// Static mode: queues the next round of events.
void readout_grant_statically(struct readout_logic *logic);

static inline const struct readout_messages *readout_messages(const struct readout_logic *logic)
{
	return logic->parameters.output->messages;
}

// --- grants.c ---

// False if the queue is full.
bool readout_put_grant(struct readout_logic *logic, const struct message *grant);

// Takes the grant that is sent next as the current one, with the segment at which its event begins
// or goes on. False if none waits, or none may be sent in this window or this phase.
bool readout_take_grant(struct readout_logic *logic, uint64_t now);

// Whether the current event must wait for another window.
bool readout_window_is_over(struct readout_logic *logic, uint64_t now);

// The current grant waits again, in front of the others for its builder.
void readout_return_grant(struct readout_logic *logic);

void readout_clear_grants(struct readout_logic *logic);

// --- the barrier of the phases ---

// The current event is sent.
void readout_end_phase(struct readout_logic *logic);

// Tells the control role which phase this node has reached.
void readout_tell_phase(struct readout_logic *logic);
