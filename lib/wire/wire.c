// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/wire.h"

static const char *const reasons[WIRE_N_ERRORS] = {
	[WIRE_OK] = "ok",
	[WIRE_TRUNCATED] = "truncated",
	[WIRE_BAD_MAGIC] = "bad_magic",
	[WIRE_BAD_VERSION] = "bad_version",
	[WIRE_BAD_LENGTH] = "bad_length",
	[WIRE_BAD_ALIGNMENT] = "bad_alignment",
	[WIRE_BAD_CHECKSUM] = "bad_checksum",
	[WIRE_BAD_SOURCE] = "bad_source",
	[WIRE_BAD_EVENT] = "bad_event",
	[WIRE_UNSUPPORTED] = "unsupported",
	[WIRE_NO_ROOM] = "no_room",
};

const char *wire_reason(enum wire_error error)
{
	return (unsigned)error < WIRE_N_ERRORS ? reasons[error] : "unknown";
}
