// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"

#define MAX_SUFFIXES 10

struct units_family {
	const char *base;
	const char *example;
	const char *suffixes[MAX_SUFFIXES + 1];
	uint64_t multipliers[MAX_SUFFIXES];
};

// The multipliers ascend: the last suffix that fits is the largest, as units_format() needs.
static const struct units_family families[] = {
	[UNITS_COUNT] = { "", "", { NULL }, { 0 } },
	[UNITS_TIME] = { "nanoseconds",
			 "100us",
			 { "ns", "us", "ms", "s", "min", "h", NULL },
			 { 1, 1000, 1000000, 1000000000, 60000000000, 3600000000000 } },
	[UNITS_SIZE] = { "bytes",
			 "64MiB",
			 { "B", "kB", "KB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB", NULL },
			 { 1, 1000, 1000, 1ULL << 10, 1000000, 1ULL << 20, 1000000000, 1ULL << 30,
			   1000000000000, 1ULL << 40 } },
	[UNITS_BIT_RATE] = { "bits per second",
			     "25Gb/s",
			     { "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", NULL },
			     { 1, 1000, 1000000, 1000000000, 1000000000000 } },
	[UNITS_FREQUENCY] = { "per second",
			      "10kHz",
			      { "Hz", "kHz", "MHz", "GHz", NULL },
			      { 1, 1000, 1000000, 1000000000 } },
};

// A parsed quantity: mantissa / 10^decimals * multiplier.
struct quantity {
	uint64_t mantissa;
	unsigned decimals;
	uint64_t multiplier;
};

static int fail(char *error, const char *text, const char *what)
{
	snprintf(error, UNITS_ERROR_SIZE, "%s %s", quote(text).text, what);
	return -1;
}

static int fail_suffix(const struct units_family *family, const char *text, char *error)
{
	char allowed[64] = "";

	for (unsigned i = 0; family->suffixes[i]; i++) {
		size_t used = strlen(allowed);
		snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i ? ", " : "",
			 family->suffixes[i]);
	}
	snprintf(error, UNITS_ERROR_SIZE, "%s has an unknown unit, allowed are %s",
		 quote(text).text, allowed);
	return -1;
}

// Appends digits to the mantissa. Returns the text after them, or NULL on overflow.
static const char *take_digits(const char *text, uint64_t *mantissa, unsigned *n_digits)
{
	for (*n_digits = 0; *text >= '0' && *text <= '9'; text++, ++*n_digits)
		if (__builtin_mul_overflow(*mantissa, 10, mantissa) ||
		    __builtin_add_overflow(*mantissa, (uint64_t)(*text - '0'), mantissa))
			return NULL;
	return text;
}

static int find_multiplier(const struct units_family *family, const char *suffix,
			   uint64_t *multiplier)
{
	*multiplier = 1;
	if (*suffix == '\0')
		return 0;
	if (*suffix == ' ')
		suffix++;
	for (unsigned i = 0; family->suffixes[i]; i++) {
		if (strcmp(suffix, family->suffixes[i]) == 0) {
			*multiplier = family->multipliers[i];
			return 0;
		}
	}
	return -1;
}

static int take_apart(enum units_kind kind, const char *text, struct quantity *quantity,
		      char *error)
{
	const struct units_family *family = &families[kind];
	unsigned n_digits;
	char what[64];

	*quantity = (struct quantity){ .multiplier = 1 };
	const char *rest = take_digits(text, &quantity->mantissa, &n_digits);
	if (!rest)
		return fail(error, text, "is too large");
	if (n_digits == 0) {
		snprintf(what, sizeof(what), "is not a quantity such as \"%s\"", family->example);
		return fail(error, text, what);
	}
	if (*rest == '.') {
		rest = take_digits(rest + 1, &quantity->mantissa, &quantity->decimals);
		if (!rest)
			return fail(error, text, "has too many digits");
		if (quantity->decimals == 0)
			return fail(error, text, "has no digits behind the point");
	}
	if (find_multiplier(family, rest, &quantity->multiplier))
		return fail_suffix(family, text, error);
	return 0;
}

static int parse_count(const char *text, uint64_t *value, char *error)
{
	bool is_hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = is_hexadecimal ? text + 2 : text;
	const char *alphabet = is_hexadecimal ? "0123456789abcdefABCDEF" : "0123456789";
	size_t n_digits = strlen(digits);

	if (n_digits == 0 || strspn(digits, alphabet) != n_digits)
		return fail(error, text, "is not a whole number");
	errno = 0;
	*value = strtoull(digits, NULL, is_hexadecimal ? 16 : 10);
	return errno == ERANGE ? fail(error, text, "is too large") : 0;
}

int units_parse(enum units_kind kind, const char *text, uint64_t *value, char *error)
{
	struct quantity quantity;

	if (kind == UNITS_COUNT)
		return parse_count(text, value, error);
	if (take_apart(kind, text, &quantity, error))
		return -1;

	unsigned __int128 product = (unsigned __int128)quantity.mantissa * quantity.multiplier;
	for (unsigned i = 0; i < quantity.decimals; i++) {
		if (product % 10) {
			char what[64];
			snprintf(what, sizeof(what), "is not a whole number of %s",
				 families[kind].base);
			return fail(error, text, what);
		}
		product /= 10;
	}
	if (product > UINT64_MAX)
		return fail(error, text, "is too large");
	*value = (uint64_t)product;
	return 0;
}

int units_parse_real(enum units_kind kind, const char *text, double *value, char *error)
{
	struct quantity quantity;

	if (take_apart(kind, text, &quantity, error))
		return -1;
	*value = (double)quantity.mantissa;
	for (unsigned i = 0; i < quantity.decimals; i++)
		*value /= 10;
	*value *= (double)quantity.multiplier;
	return 0;
}

void units_format(enum units_kind kind, uint64_t value, char text[UNITS_TEXT_SIZE])
{
	const struct units_family *family = &families[kind];
	const char *suffix = "";
	uint64_t multiplier = 1;

	for (unsigned i = 0; value && family->suffixes[i]; i++) {
		if (value % family->multipliers[i] == 0) {
			suffix = family->suffixes[i];
			multiplier = family->multipliers[i];
		}
	}
	snprintf(text, UNITS_TEXT_SIZE, "%" PRIu64 "%s", value / multiplier, suffix);
}

const char *units_base(enum units_kind kind)
{
	return families[kind].base;
}

const char *const *units_suffixes(enum units_kind kind)
{
	return families[kind].suffixes;
}
