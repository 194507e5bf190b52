// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Quantities in the form in which people write them: "100us", "64MiB", "25Gb/s". Decimal suffixes
// count in thousands ("8MB"), binary ones in 1024s ("8MiB"). A quantity without a suffix is in the
// base unit. Whole quantities are computed exactly, never through a double.
//
// Pure functions, for any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define UNITS_ERROR_SIZE 192
#define UNITS_TEXT_SIZE  32

enum units_kind {
	UNITS_COUNT,     // no suffix; "4096" or "0x1000"
	UNITS_TIME,      // nanoseconds; ns us ms s min h
	UNITS_SIZE,      // bytes; B kB KB MB GB TB KiB MiB GiB TiB
	UNITS_BIT_RATE,  // bits per second; b/s kb/s Mb/s Gb/s Tb/s
	UNITS_FREQUENCY, // per second; Hz kHz MHz GHz
};

// Parses a quantity that is a whole number of base units. Returns 0, or -1 with the cause in
// error[UNITS_ERROR_SIZE]: no number, an unknown suffix (the allowed ones are listed), a fraction
// of a base unit, or too large.
int units_parse(enum units_kind kind, const char *text, uint64_t *value, char *error);

// The same for quantities that may be fractions of the base unit ("0.5Hz").
int units_parse_real(enum units_kind kind, const char *text, double *value, char *error);

// Writes a quantity exactly, in the largest unit of which it is a multiple: 65536 bytes as "64KiB".
void units_format(enum units_kind kind, uint64_t value, char text[UNITS_TEXT_SIZE]);

// The name of the base unit in words ("nanoseconds"), "" for counts.
const char *units_base(enum units_kind kind);

// The suffixes of a kind, ended by NULL.
const char *const *units_suffixes(enum units_kind kind);
