// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "base/utf8.h"

#include <stdint.h>

// RFC 3629: no overlong forms, no surrogates, at most U+10FFFF.
size_t utf8_length(const char *text)
{
	const uint8_t *bytes = (const uint8_t *)text;
	uint32_t code;
	size_t length;

	if (bytes[0] == 0)
		return 0;
	if (bytes[0] < 0x80)
		return 1;
	length = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2;
	if (bytes[0] < 0xC2 || bytes[0] > 0xF4)
		return 0;
	code = bytes[0] & (0x7Fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (bytes[i] & 0x3F);
	}
	if ((length == 3 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) ||
	    (length == 4 && (code < 0x10000 || code > 0x10FFFF)))
		return 0;
	return length;
}
