// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of the logic share: readout_logic.c (life), announce.c (the run,
// announcing, grants) and step.c (sending).
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
