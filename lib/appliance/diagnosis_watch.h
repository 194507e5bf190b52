// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The diagnosis of an appliance: the control thread looks at the counters a few times per second,
// passes facts to diagnose(), publishes the findings for telemetry, and logs those that are new.
// Nothing of this touches the path of packets.
#pragma once

#include "appliance/appliance.h"
#include "diagnosis/diagnosis.h"

struct diagnosis_watch;

// Before the first role runs. Returns 0, or -1 if memory ran out.
int diagnosis_make(struct appliance *appliance);
void diagnosis_free(struct appliance *appliance);

// Counters restart from 0, in the next run. The lcores have stopped.
void diagnosis_begin_run(struct appliance *appliance);

// Looks, if it is time. Control thread.
void diagnosis_poll(struct appliance *appliance);

// The end of the run waits for a role, NULL: for consumers, for at most `seconds`. To be called
// before each wait, and while it lasts.
void diagnosis_drains(struct appliance *appliance, const char *role, double seconds);

// The drain begins, or the run has drained: what is wrong is stored for the account of the run.
void diagnosis_end_run(struct appliance *appliance, bool has_drained);

// The findings of the last look. Any thread, while the appliance is started.
void appliance_diagnosis(const struct appliance *appliance, struct diagnosis *diagnosis);

// The findings of the end of the run, with all losses of the run; empty before. Control
// thread.
const struct diagnosis *appliance_final_diagnosis(const struct appliance *appliance);
