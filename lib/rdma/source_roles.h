// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Common access to both source roles, with and without RoCE, for the appliance and telemetry. Any
// thread may call it.
#pragma once

#include "rdma/roce_source_role.h"
#include "tx/source_role.h"

static inline const struct source_counters *any_source_counters(const struct role *role)
{
	return roce_source_role_is(role) ? roce_source_role_source_counters(role)
					 : source_role_counters(role);
}

static inline const struct sender_counters *any_source_sender_counters(const struct role *role)
{
	return roce_source_role_is(role) ? roce_source_role_sender_counters(role)
					 : source_role_sender_counters(role);
}

// Whether all events and the end of the run have been sent.
static inline bool any_source_finished(const struct role *role)
{
	return roce_source_role_is(role) ? roce_source_role_finished(role)
					 : source_role_finished(role);
}
