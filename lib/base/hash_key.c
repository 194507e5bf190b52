// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "base/hash_key.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"

struct hash_key hash_key_draw(void)
{
	struct hash_key key;

	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != (ssize_t)sizeof(key)) {
		struct timespec now;
		struct random random;

		clock_gettime(CLOCK_REALTIME, &now);
		random = random_fork((uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec,
				     (uint64_t)getpid());
		key.mask = random_next(&random);
		key.multiplier = random_next(&random);
	}
	key.multiplier |= 1;
	return key;
}
