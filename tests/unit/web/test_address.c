// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "web/server.h"

static void assert_parsed(const char *text, const char *expected_host, unsigned expected_port)
{
	char error[WEB_ERROR_SIZE] = "", host[INET6_ADDRSTRLEN];
	struct sockaddr_storage address;
	uint16_t port;

	if (web_address_parse(text, &address, error) != 0)
		fail_msg("%s", error);
	if (address.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const void *)&address;

		inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
		port = in->sin6_port;
	} else {
		const struct sockaddr_in *in = (const void *)&address;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		port = in->sin_port;
	}
	assert_string_equal(host, expected_host);
	assert_int_equal(ntohs(port), expected_port);
}

static void parse__addresses(void **state)
{
	(void)state;
	assert_parsed("127.0.0.1:8080", "127.0.0.1", 8080);
	assert_parsed("0.0.0.0:0", "0.0.0.0", 0);
	assert_parsed("[::1]:65535", "::1", 65535);
	assert_parsed("[::]:80", "::", 80);
	assert_parsed("9000", "127.0.0.1", 9000);
	assert_parsed("0", "127.0.0.1", 0);
}

static void parse__refuses_what_is_none(void **state)
{
	static const char *const texts[] = {
		"",
		":",
		":8080",
		"localhost:8080",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:x",
		"127.0.0.1:65536",
		"127.0.0.1:-1",
		"1.2.3:99999999999",
		"::1:80",
		"[::1]",
		"[]:80",
		"[::1:80",
		"::1]:80",
		"300.0.0.1:80",
		"1.2.3.4:8080 ",
		"[1111111111111111111111111111111111111111111111111111111111111111111111111111]:80",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sockaddr_storage address;
		char error[WEB_ERROR_SIZE] = "";

		if (web_address_parse(texts[i], &address, error) == 0)
			fail_msg("\"%s\" was taken", texts[i]);
		assert_non_null(strstr(error, "is no address to listen to"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__addresses),
		cmocka_unit_test(parse__refuses_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
