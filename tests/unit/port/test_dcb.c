// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include "port/dcb.h"
#include "port/interface.h"

// What the kernel answers: headers, the interface's name, and the nested IEEE attributes.
struct answer {
	struct nlmsghdr header;
	struct dcbmsg message;
	struct rtattr name;
	char name_value[4]; // "eth"
	struct rtattr ieee;
	struct rtattr other;
	uint32_t other_value;
	struct rtattr pfc;
	struct ieee_pfc pfc_value __attribute__((packed, aligned(4)));
} __attribute__((packed, aligned(4)));

static struct answer answer_of(void)
{
	struct answer answer = {
		.header = { .nlmsg_len = sizeof(answer), .nlmsg_type = RTM_GETDCB },
		.message = { .cmd = DCB_CMD_IEEE_GET },
		.name = { .rta_len = 8, .rta_type = DCB_ATTR_IFNAME },
		.name_value = "eth",
		.ieee = { .rta_len = sizeof(answer) - offsetof(struct answer, ieee),
			  .rta_type = DCB_ATTR_IEEE | NLA_F_NESTED },
		.other = { .rta_len = 8, .rta_type = DCB_ATTR_IEEE_ETS },
		.pfc = { .rta_len = 4 + sizeof(struct ieee_pfc), .rta_type = DCB_ATTR_IEEE_PFC },
	};
	struct ieee_pfc pfc = { .pfc_cap = 8, .pfc_en = 0x18 };

	for (unsigned i = 0; i < DCB_PRIORITIES; i++) {
		pfc.requests[i] = 100 + i;
		pfc.indications[i] = 200 + i;
	}
	memcpy(&answer.pfc_value, &pfc, sizeof(pfc));
	return answer;
}

// From an allocation of just this size.
static bool decode(const void *bytes, size_t size, struct dcb_pfc *pfc)
{
	void *copy = malloc(size != 0 ? size : 1);
	bool result;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	result = dcb_pfc_decode(copy, size, pfc);
	free(copy);
	return result;
}

static void decode__all_that_it_says(void **state)
{
	struct answer answer = answer_of();
	struct dcb_pfc pfc;

	(void)state;
	assert_true(decode(&answer, sizeof(answer), &pfc));
	assert_int_equal(pfc.enabled, 0x18);
	for (unsigned i = 0; i < DCB_PRIORITIES; i++) {
		assert_int_equal(pfc.sent[i], 100 + i);
		assert_int_equal(pfc.received[i], 200 + i);
	}
}

static void decode__of_something_else(void **state)
{
	struct answer answer;
	struct dcb_pfc pfc;

	(void)state;
	answer = answer_of();
	answer.header.nlmsg_type = NLMSG_ERROR;
	assert_false(decode(&answer, sizeof(answer), &pfc));
	answer = answer_of();
	answer.ieee.rta_type = DCB_ATTR_CEE;
	assert_false(decode(&answer, sizeof(answer), &pfc));
	answer = answer_of();
	answer.pfc.rta_type = DCB_ATTR_IEEE_PEER_PFC;
	assert_false(decode(&answer, sizeof(answer), &pfc));
	answer = answer_of();
	answer.pfc.rta_len = 4 + sizeof(struct ieee_pfc) - 1;
	assert_false(decode(&answer, sizeof(answer), &pfc));
}

static void decode__cut_off(void **state)
{
	struct answer answer = answer_of();
	struct dcb_pfc pfc;

	(void)state;
	for (size_t size = 0; size < sizeof(answer); size++)
		assert_false(decode(&answer, size, &pfc));
	// Also where the header knows of it.
	for (size_t size = 0; size < sizeof(answer); size++) {
		answer.header.nlmsg_len = (uint32_t)size;
		assert_false(decode(&answer, size, &pfc));
	}
}

// Nothing is read beyond the bytes, and it ends.
static void decode__any_byte_changed(void **state)
{
	struct answer answer = answer_of();
	uint8_t bytes[sizeof(answer)];
	struct dcb_pfc pfc;

	(void)state;
	for (size_t at = 0; at < sizeof(bytes); at++)
		for (unsigned value = 0; value < 256; value++) {
			memcpy(bytes, &answer, sizeof(bytes));
			bytes[at] = (uint8_t)value;
			(void)decode(bytes, sizeof(bytes), &pfc);
		}
}

static void get__of_no_interface(void **state)
{
	struct interface_stats stats;
	struct dcb_pfc pfc;

	(void)state;
	assert_false(dcb_pfc_get("no-such-if", &pfc));
	assert_false(dcb_pfc_get("", &pfc));
	assert_false(dcb_pfc_get("a-name-longer-than-any", &pfc));
	assert_int_equal(interface_stats_open(&stats, "no-such-if"), -1);
	interface_stats_close(&stats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__all_that_it_says),
		cmocka_unit_test(decode__of_something_else),
		cmocka_unit_test(decode__cut_off),
		cmocka_unit_test(decode__any_byte_changed),
		cmocka_unit_test(get__of_no_interface),
	};

	return cmocka_run_group_tests_name("dcb", tests, NULL, NULL);
}
