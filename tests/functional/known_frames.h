// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Shared by the parts of known_frames.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FRAME_ROOM 8192u // bytes

// Random numbers; the second: from least to most.
uint64_t draw(void);
uint64_t draw_from(uint64_t least, uint64_t most);

void put_frame(const uint8_t *bytes, size_t size, uint16_t port);

// Says what a field of the last frame is, by the name RECORD.NAME of the dissectors.
void tell(const char *record, const char *name, uint64_t value);
void tell_text(const char *record, const char *name, const char *text);

// A frame of the control protocol with a record of each type, some of them sealed.
void control_frames(void);
