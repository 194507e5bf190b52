// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stands for an appliance towards consumers: publishes the MEPs of a file in an event ring, one
// after the other and again from the first one on, as fast as consumers release them.
//
//   ring_feeder DIRECTORY FILE.mep COUNT [GROUP]
//
// The appliance's name is "feeder", its group "filter", which decides, and GROUP comes after it. It
// prints "ready" when readers can join. It ends when COUNT MEPs are published and released, or
// after a minute without a release.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "evring/evb_mep.h"
#include "evring/evring.h"
#include "source/file_bytes.h"

#define SLOTS      64u
#define REAP_MS    100
#define PATIENCE_S 60
#define MOST_MEPS  65536u

struct feeder {
	struct evring *ring;
	struct evb_mep meps[MOST_MEPS];
	unsigned n_meps;
	size_t largest; // bytes
	uint32_t free_slots[SLOTS];
	unsigned n_free;
	uint64_t published;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool find_meps(struct feeder *feeder, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		struct evb_mep *mep = &feeder->meps[feeder->n_meps];

		if (feeder->n_meps == MOST_MEPS || evb_mep_open(mep, bytes, size) != 0)
			return false;
		feeder->largest = mep->length > feeder->largest ? mep->length : feeder->largest;
		feeder->n_meps++;
		bytes += mep->length;
		size -= mep->length;
	}
	return feeder->n_meps > 0;
}

static bool make_ring(struct feeder *feeder, const char *directory, const char *after)
{
	static const struct evring_group_rules rules[] = { { .decides = true },
							   { .after = "filter" } };
	const char *const groups[] = { "filter", after };
	const struct evring_parameters parameters = {
		.name = "feeder",
		.directory = directory,
		.n_builders = 1,
		.run_number = 1,
		.slots = SLOTS,
		.slot_size = feeder->largest,
		.groups = groups,
		.n_groups = after != NULL ? 2 : 1,
		.rules = rules,
	};
	char error[EVRING_ERROR_SIZE];

	if (evring_create(&feeder->ring, &parameters, error) != 0) {
		fprintf(stderr, "ring_feeder: %s\n", error);
		return false;
	}
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		feeder->free_slots[feeder->n_free++] = slot;
	return true;
}

static void publish(struct feeder *feeder)
{
	const struct evb_mep *mep = &feeder->meps[feeder->published % feeder->n_meps];
	const uint32_t slot = feeder->free_slots[--feeder->n_free];
	const struct evring_event event = {
		.event_id = mep->event_id,
		.length = mep->length,
		.n_sources = mep->n_sources,
	};

	evring_begin(feeder->ring, slot);
	memcpy(evring_slot(feeder->ring, slot), mep->data, mep->length);
	evring_publish(feeder->ring, slot, &event);
	feeder->published++;
}

// Until `count` MEPs are published and released. Returns false if consumers released none for long.
static bool feed(struct feeder *feeder, uint64_t count)
{
	uint64_t released_ms = now_ms(), reaped_ms = 0;

	while (feeder->published < count || evring_outstanding(feeder->ring) > 0) {
		unsigned n = evring_reclaim(feeder->ring, &feeder->free_slots[feeder->n_free],
					    SLOTS - feeder->n_free);
		uint64_t now = now_ms();

		if (n > 0)
			released_ms = now;
		else
			usleep(50); // consumers may need this CPU
		if (now - released_ms > PATIENCE_S * 1000)
			return false;
		if (now - reaped_ms > REAP_MS) {
			evring_reap(feeder->ring);
			reaped_ms = now;
		}
		feeder->n_free += n;
		while (feeder->n_free > 0 && feeder->published < count)
			publish(feeder);
		if (feeder->published == count)
			evring_end(feeder->ring);
	}
	return true;
}

int main(int argc, char **argv)
{
	static struct feeder feeder;
	char error[SOURCE_ERROR_SIZE];
	uint8_t *bytes = NULL;
	size_t size = 0;
	bool done;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: %s DIRECTORY FILE.mep COUNT [GROUP]\n", argv[0]);
		return 2;
	}
	if (file_bytes_read(argv[2], &bytes, &size, error) != 0) {
		fprintf(stderr, "ring_feeder: %s\n", error);
		return 1;
	}
	if (!find_meps(&feeder, bytes, size)) {
		fprintf(stderr, "ring_feeder: %s is no file of MEPs\n", argv[2]);
		return 1;
	}
	if (!make_ring(&feeder, argv[1], argc == 5 ? argv[4] : NULL))
		return 1;
	printf("ready\n");
	fflush(stdout);
	done = feed(&feeder, strtoull(argv[3], NULL, 10));
	evring_destroy(feeder.ring);
	free(bytes);
	return done ? 0 : 1;
}
