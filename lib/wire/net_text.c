// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/net.h"

#include <arpa/inet.h>

#define MAX_PREFIX_LENGTH 32u

// Accepts one or two decimal digits and nothing else.
static bool parse_prefix_length(const char *text, unsigned *prefix_length)
{
	unsigned value = 0;
	size_t n = strspn(text, "0123456789");

	if (n < 1 || n > 2 || text[n] != '\0')
		return false;
	while (*text)
		value = value * 10 + (unsigned)(*text++ - '0');
	*prefix_length = value;
	return value <= MAX_PREFIX_LENGTH;
}

bool net_ipv4_parse(const char *text, uint32_t *ip, unsigned *prefix_length)
{
	char address[INET_ADDRSTRLEN];
	size_t n = strcspn(text, "/");
	struct in_addr parsed;

	if (n >= sizeof(address))
		return false;
	memcpy(address, text, n);
	address[n] = '\0';
	if (inet_pton(AF_INET, address, &parsed) != 1)
		return false;
	*ip = ntohl(parsed.s_addr);
	*prefix_length = MAX_PREFIX_LENGTH;
	return text[n] == '\0' || parse_prefix_length(text + n + 1, prefix_length);
}
