// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "web/server.h"

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(char *error, const char *text)
{
	snprintf(error, WEB_ERROR_SIZE,
		 "\"%.80s\" is no address to listen to: 127.0.0.1:8080, [::1]:8080 and 8080 are",
		 text);
	return -1;
}

int web_address_parse(const char *text, struct sockaddr_storage *address, char *error)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
					.ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(text, ':');
	const char *port = colon != NULL ? colon + 1 : text;
	char host[WEB_ADDRESS_SIZE] = "127.0.0.1";
	struct addrinfo *list;
	size_t length;

	if (colon != NULL) {
		bool bracketed = text[0] == '[' && colon > text + 1 && colon[-1] == ']';

		length = (size_t)(colon - text) - (bracketed ? 2 : 0);
		if (length == 0 || length >= sizeof(host) ||
		    (!bracketed && memchr(text, ':', length) != NULL))
			return fail(error, text);
		memcpy(host, text + bracketed, length);
		host[length] = '\0';
	}
	if (port[0] == '\0' || strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 ||
	    strtoul(port, NULL, 10) > UINT16_MAX)
		return fail(error, text);
	if (getaddrinfo(host, port, &hints, &list) != 0)
		return fail(error, text);
	memset(address, 0, sizeof(*address));
	memcpy(address, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}
