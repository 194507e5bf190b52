// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An event ring with a faulty or hostile consumer: it writes any words into the memory that
// members of groups can write, between the steps of the builder, of another member and of a spy.
// Whatever it writes: the builder has each of its slots once, what readers get lies inside a slot,
// and every call returns.
//
// Input, for each step: u8 what is done, u8 which, u16 offset (little endian), u64 value. A word of
// the control area is overwritten by the value, or has bits flipped; everything else takes `which`.
#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

// One ring serves all inputs: its private part, too, is put back to how it was made.
#include "evring/evring.c"
#include "evring/evring_lock.h"
#include "evring/reader_ring.h"
#include "wire/wire.h"

#define SLOTS     4u
#define SLOT_SIZE 4096u
#define STEP_SIZE 12u
#define PLACE     "/evb-fuzz"

struct bench {
	struct evring *ring;
	struct evb_ring member, spy;
	struct evb_event held[SLOTS];
	unsigned n_held;
	bool is_free[SLOTS]; // the builder has it
	struct evb_reader_counters counters;
};

// As they were made.
static struct bench made;
static struct evring made_ring;
static uint8_t *made_control;
static char directory[] = "/tmp/evb-fuzz-XXXXXX";

static void remove_ring(void)
{
	evb_ring_close(&made.member);
	evb_ring_close(&made.spy);
	evring_destroy(made.ring);
	free(made_control);
	rmdir(directory);
}

static void make_ring(void)
{
	static const char *const groups[] = { "main" };
	const struct evring_parameters parameters = { .name = "fuzz",
						      .directory = directory,
						      .n_builders = 1,
						      .slots = SLOTS,
						      .slot_size = SLOT_SIZE,
						      .groups = groups,
						      .n_groups = 1 };
	char place[sizeof(directory) + sizeof(PLACE)], error[EVRING_ERROR_SIZE];

	FUZZ_CHECK(mkdtemp(directory));
	FUZZ_CHECK(evring_create(&made.ring, &parameters, error) == 0);
	snprintf(place, sizeof(place), "%s" PLACE, directory);
	FUZZ_CHECK(evb_ring_open(&made.member, place, 0, true, error) == 0);
	FUZZ_CHECK(evb_ring_open(&made.spy, place, 0, false, error) == 0);
	FUZZ_CHECK(evb_ring_join(&made.member, "main", error) == 0);
	evb_ring_spy(&made.spy);
	memset(made.is_free, true, sizeof(made.is_free));
	made_ring = *made.ring;
	made_control = malloc(made.member.view.control_size);
	FUZZ_CHECK(made_control);
	memcpy(made_control, made.member.view.header, made.member.view.control_size);
	atexit(remove_ring);
}

static void drop_locks(int file)
{
	struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	FUZZ_CHECK(fcntl(file, F_OFD_SETLK, &all) == 0);
}

static void open_bench(struct bench *bench)
{
	if (!made.ring)
		make_ring();
	*bench = made;
	*bench->ring = made_ring;
	bench->ring->next[SLOTS] = bench->ring->previous[SLOTS] = SLOTS;
	memcpy(bench->member.view.header, made_control, bench->member.view.control_size);
	drop_locks(bench->member.view.members);
	drop_locks(bench->ring->view.members);
	FUZZ_CHECK(evring_lock_take(bench->member.view.members,
				    EVRING_LOCK_MEMBER(bench->member.membership.member)) == 0);
}

static void publish(struct bench *bench, unsigned slot, uint64_t value)
{
	const struct evring_event event = { .event_id = value, .length = value % SLOT_SIZE + 1 };

	if (!bench->is_free[slot])
		return;
	bench->is_free[slot] = false;
	evring_begin(bench->ring, slot);
	memset(evring_slot(bench->ring, slot), (int)value, 64);
	evring_publish(bench->ring, slot, &event);
}

static void reclaim(struct bench *bench)
{
	uint32_t slots[SLOTS];
	unsigned n = evring_reclaim(bench->ring, slots, SLOTS), n_free = 0;

	FUZZ_CHECK(n <= SLOTS);
	for (unsigned i = 0; i < n; i++) {
		FUZZ_CHECK(slots[i] < SLOTS && !bench->is_free[slots[i]]);
		bench->is_free[slots[i]] = true;
	}
	for (unsigned i = 0; i < SLOTS; i++)
		n_free += bench->is_free[i];
	FUZZ_CHECK(evring_outstanding(bench->ring) + n_free == SLOTS);
}

static void check_event(const struct evb_ring *ring, const struct evb_event *event)
{
	const uint8_t *slots = ring->view.slots;

	FUZZ_CHECK(event->slot < SLOTS && event->length <= SLOT_SIZE);
	FUZZ_CHECK((const uint8_t *)event->data == slots + event->slot * SLOT_SIZE);
	// The consumer reads all of it.
	for (size_t i = 0; i < event->length; i += 64)
		(void)__atomic_load_n((const uint8_t *)event->data + i, __ATOMIC_RELAXED);
}

static void take(struct bench *bench)
{
	struct evb_event event;

	if (bench->n_held == SLOTS)
		return;
	if (!evb_ring_next(&bench->member, &event, &bench->counters))
		return;
	check_event(&bench->member, &event);
	bench->held[bench->n_held++] = event;
}

static void release(struct bench *bench, unsigned which)
{
	if (bench->n_held == 0)
		return;
	which %= bench->n_held;
	(void)evb_ring_release(&bench->member, &bench->held[which]); // it may be no longer ours
	bench->held[which] = bench->held[--bench->n_held];
}

static void look(struct bench *bench)
{
	struct evb_event event;

	if (!evb_ring_next(&bench->spy, &event, &bench->counters))
		return;
	check_event(&bench->spy, &event);
	(void)evb_ring_is_intact(&bench->spy, &event);
}

static void scribble(const struct bench *bench, bool flip, size_t offset, uint64_t value)
{
	// In the header the numbers that do not change stay: readers check them before they map it.
	const size_t begin = offsetof(struct evring_header, state);
	uint8_t *word;
	uint64_t now;

	word = (uint8_t *)bench->member.view.header + begin +
	       offset % (bench->member.view.control_size - begin - 7);
	memcpy(&now, word, sizeof(now));
	now = flip ? now ^ value : value;
	memcpy(word, &now, sizeof(now));
}

// Members that died, groups without members, and what telemetry shows.
static void housekeep(struct bench *bench)
{
	struct evring_group_state state;

	evring_reap(bench->ring);
	for (unsigned i = 0; i <= EVRING_MAX_GROUPS; i++)
		if (evring_group(bench->ring, i, &state))
			FUZZ_CHECK(memchr(state.name, 0, sizeof(state.name)));
	FUZZ_CHECK(!evring_is_cut(bench->ring));
}

static void rejoin(struct bench *bench)
{
	char error[EVRING_ERROR_SIZE];

	evring_leave(&bench->member.view, &bench->member.membership);
	bench->n_held = 0;
	bench->member.is_member = false;
	(void)evb_ring_join(&bench->member, "main", error);
	if (!bench->member.is_member)
		evb_ring_spy(&bench->member);
}

static void step(struct bench *bench, const uint8_t *bytes)
{
	const uint64_t value = load_le64(bytes + 4);
	const uint8_t which = bytes[1];

	switch (bytes[0] % 16) {
	case 0:
	case 1:
		publish(bench, which % SLOTS, value);
		break;
	case 2:
		reclaim(bench);
		break;
	case 3:
	case 4:
		take(bench);
		break;
	case 5:
		release(bench, which);
		break;
	case 6:
		look(bench);
		break;
	case 7:
		housekeep(bench);
		break;
	case 8:
		evb_ring_check_living(which & 1 ? &bench->member : &bench->spy);
		evb_ring_check_end(&bench->spy);
		break;
	case 9:
		if (bench->member.is_member)
			rejoin(bench);
		break;
	default:
		scribble(bench, which & 1, load_le16(bytes + 2), value);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bench bench;

	open_bench(&bench);
	for (size_t at = 0; at + STEP_SIZE <= size; at += STEP_SIZE)
		step(&bench, data + at);
	reclaim(&bench);
	return 0;
}
