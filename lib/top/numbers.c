// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/numbers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN "-"

// Three significant digits, for values below 1000.
static void three_digits(double value, const char *unit, char text[NUMBERS_SIZE])
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(text, NUMBERS_SIZE, "%.*f%s", decimals, value, unit);
}

void numbers_count(double value, char text[NUMBERS_SIZE])
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
	unsigned unit = 0;
	char *at = text;

	if (isnan(value)) {
		strcpy(text, UNKNOWN);
		return;
	}
	if (value < 0) {
		*at++ = '-';
		value = -value;
	}
	while (value >= 999.5 && unit < sizeof(units) / sizeof(units[0]) - 1) {
		value /= 1000;
		unit++;
	}
	if (unit == 0 && (value == floor(value) || value < 0.005))
		snprintf(at, NUMBERS_SIZE - 1, "%.0f", value < 0.005 ? 0 : value);
	else if (value >= 999.5)
		snprintf(at, NUMBERS_SIZE - 1, ">999%s", units[unit]);
	else
		three_digits(value, units[unit], at);
}

void numbers_share(double value, char text[NUMBERS_SIZE])
{
	double percent = value * 100;

	if (isnan(value)) {
		strcpy(text, UNKNOWN);
		return;
	}
	if (percent > 99.99 && value < 1)
		percent = 99.99;
	if (percent < 0.01 && percent > 0)
		percent = 0.01;
	if (percent >= 99.995)
		strcpy(text, "100%");
	else if (percent <= 0)
		strcpy(text, "0%");
	else if (percent < 1 || percent > 99)
		snprintf(text, NUMBERS_SIZE, "%.2f%%", percent);
	else
		snprintf(text, NUMBERS_SIZE, "%.1f%%", percent);
}

void numbers_time(double ns, char text[NUMBERS_SIZE])
{
	if (isnan(ns) || ns < 0)
		strcpy(text, UNKNOWN);
	else if (ns < 999.5)
		snprintf(text, NUMBERS_SIZE, "%.0fns", ns);
	else if (ns < 999.5e3)
		three_digits(ns * 1e-3, "us", text);
	else if (ns < 999.5e6)
		three_digits(ns * 1e-6, "ms", text);
	else if (ns < 999.5e9)
		three_digits(ns * 1e-9, "s", text);
	else
		strcpy(text, ">999s");
}

void numbers_duration(double seconds, char text[NUMBERS_SIZE])
{
	unsigned long whole = seconds > 0 && seconds < 1e9 ? (unsigned long)seconds : 0;
	unsigned long days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;

	if (days > 0)
		snprintf(text, NUMBERS_SIZE, "%lud %02lu:%02lu", days % 100000, hours, minutes);
	else
		snprintf(text, NUMBERS_SIZE, "%02lu:%02lu:%02lu", hours, minutes, whole % 60);
}
