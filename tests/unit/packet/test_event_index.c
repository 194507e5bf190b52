// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "packet/event_index.h"

static void assert_divides(uint64_t n, uint64_t value)
{
	struct divisor divisor = divisor_make(value);

	if (divide(n, &divisor) != n / value || remainder_of(n, &divisor) != n % value)
		fail_msg("%llu / %llu gives %llu, remainder %llu", (unsigned long long)n,
			 (unsigned long long)value, (unsigned long long)divide(n, &divisor),
			 (unsigned long long)remainder_of(n, &divisor));
}

static void divide__at_the_edges(void **state)
{
	static const uint64_t values[] = { 1,         2,     3,          4,
					   5,         7,     10,         64,
					   100,       641,   32768,      65534,
					   65535,     65536, UINT32_MAX, UINT64_MAX - 1,
					   UINT64_MAX };
	static const uint64_t numbers[] = { 0,
					    1,
					    2,
					    3,
					    65535,
					    65536,
					    UINT32_MAX,
					    UINT64_C(1) << 32,
					    INT64_MAX,
					    UINT64_C(1) << 63,
					    UINT64_MAX - 65535,
					    UINT64_MAX - 1,
					    UINT64_MAX };

	(void)state;
	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		for (unsigned j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++)
			assert_divides(numbers[j], values[i]);
}

// Around multiples of every divisor that a packing can be.
static void divide__around_multiples(void **state)
{
	struct random random = random_fork(1, 1);

	(void)state;
	for (uint64_t value = 1; value <= 65535; value++) {
		uint64_t multiple = random_next(&random) / value * value;

		assert_divides(multiple, value);
		assert_divides(multiple - 1, value);
		assert_divides(multiple + 1, value);
		assert_divides(UINT64_MAX / value * value, value);
		assert_divides(UINT64_MAX / value * value - 1, value);
	}
}

static void divide__random_numbers(void **state)
{
	struct random random = random_fork(1, 2);

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t n = random_next(&random) >> (random_next(&random) % 64);
		uint64_t value = random_next(&random) >> (random_next(&random) % 64);

		assert_divides(n, value != 0 ? value : 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(divide__at_the_edges),
		cmocka_unit_test(divide__around_multiples),
		cmocka_unit_test(divide__random_numbers),
	};

	return cmocka_run_group_tests_name("event_index", tests, NULL, NULL);
}
