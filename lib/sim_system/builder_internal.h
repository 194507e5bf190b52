// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of a builder share: builder.c (slots and segments) and builder_messages.c.
#pragma once

#include "sim_system/builder.h"

static inline uint32_t sim_builder_index(const struct sim_builder *builder,
					 const struct sim_slot *slot)
{
	return (uint32_t)(slot - builder->slots);
}

// The open or held event; NULL: there is none.
struct sim_slot *sim_builder_find(const struct sim_builder *builder, uint64_t event);

// NULL: no slot is free.
struct sim_slot *sim_builder_open(struct sim_builder *builder, uint64_t event, bool granted,
				  uint64_t now);

// Frees a slot. `released`: by consumers; 0: they never had it.
void sim_builder_release(struct sim_builder *builder, struct sim_slot *slot, uint64_t released);

// Closes an open event that lacks nothing any more.
void sim_builder_judge(struct sim_builder *builder, struct sim_slot *slot, uint64_t now);

// Sets the time at which the slot is looked at.
void sim_builder_set_time(struct sim_builder *builder, struct sim_slot *slot, uint64_t at);

// Takes segments that wait, until one finds no slot.
void sim_builder_serve(struct sim_builder *builder, uint64_t now);
