// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An event ring with a faulty or hostile consumer: it writes any words into the memory that
// members of groups can write, between the steps of the builder, of a filter that decides, of a
// member of the group after it, of one of another group, and of a spy.
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
#define MEMBERS   3u
#define PLACE     "/evb-fuzz"

// A member of a group, and what it has not released.
struct member {
	struct evb_ring ring;
	struct evb_event held[SLOTS];
	unsigned n_held;
};

struct bench {
	struct evring *ring;
	struct member members[MEMBERS]; // by group_names
	struct evb_ring spy;
	bool is_free[SLOTS]; // the builder has it
	struct evb_reader_counters counters;
};

static const char *const group_names[MEMBERS] = { "filter", "recorder", "monitor" };

// As they were made.
static struct bench made;
static struct evring made_ring;
static uint8_t *made_control;
static char directory[] = "/tmp/evb-fuzz-XXXXXX";

static void remove_ring(void)
{
	for (unsigned i = 0; i < MEMBERS; i++)
		evb_ring_close(&made.members[i].ring);
	evb_ring_close(&made.spy);
	evring_destroy(made.ring);
	free(made_control);
	rmdir(directory);
}

static void open_readers(const char *place)
{
	char error[EVRING_ERROR_SIZE];

	for (unsigned i = 0; i < MEMBERS; i++) {
		struct evb_ring *ring = &made.members[i].ring;

		FUZZ_CHECK(evb_ring_open(ring, place, 0, true, error) == 0);
		FUZZ_CHECK(evb_ring_join(ring, group_names[i], error) == 0);
	}
	FUZZ_CHECK(evb_ring_open(&made.spy, place, 0, false, error) == 0);
	evb_ring_spy(&made.spy);
}

static void make_ring(void)
{
	static const struct evring_group_rules rules[MEMBERS] = { { .decides = true },
								  { .after = "filter" } };
	const struct evring_parameters parameters = { .name = "fuzz",
						      .directory = directory,
						      .n_builders = 1,
						      .slots = SLOTS,
						      .slot_size = SLOT_SIZE,
						      .groups = group_names,
						      .rules = rules,
						      .n_groups = MEMBERS };
	char place[sizeof(directory) + sizeof(PLACE)], error[EVRING_ERROR_SIZE];
	const struct evring_view *view = &made.members[0].ring.view;

	FUZZ_CHECK(mkdtemp(directory));
	FUZZ_CHECK(evring_create(&made.ring, &parameters, error) == 0);
	snprintf(place, sizeof(place), "%s" PLACE, directory);
	open_readers(place);
	memset(made.is_free, true, sizeof(made.is_free));
	made_ring = *made.ring;
	made_control = malloc(view->control_size);
	FUZZ_CHECK(made_control);
	memcpy(made_control, view->header, view->control_size);
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
	memcpy(bench->members[0].ring.view.header, made_control, bench->spy.view.control_size);
	drop_locks(bench->ring->view.members);
	for (unsigned i = 0; i < MEMBERS; i++)
		drop_locks(bench->members[i].ring.view.members);
	for (unsigned i = 0; i < MEMBERS; i++) {
		const struct evb_ring *ring = &bench->members[i].ring;

		FUZZ_CHECK(evring_lock_take(ring->view.members,
					    EVRING_LOCK_MEMBER(ring->membership.member)) == 0);
	}
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

static void take(struct bench *bench, struct member *member)
{
	struct evb_event event;

	if (member->n_held == SLOTS || !evb_ring_next(&member->ring, &event, &bench->counters))
		return;
	check_event(&member->ring, &event);
	member->held[member->n_held++] = event;
}

// Results do not matter: the event may be no longer the member's.
static void decide(struct member *member, unsigned which, uint64_t value)
{
	const struct evb_decision decision = { .accept = value & 1, .lines = value };

	if (member->n_held > 0)
		(void)evb_ring_decide(&member->ring, &member->held[which % member->n_held],
				      &decision, value);
}

static void release(struct member *member, unsigned which)
{
	if (member->n_held == 0)
		return;
	which %= member->n_held;
	(void)evb_ring_release(&member->ring, &member->held[which]);
	member->held[which] = member->held[--member->n_held];
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

	word = (uint8_t *)bench->members[0].ring.view.header + begin +
	       offset % (bench->spy.view.control_size - begin - 7);
	memcpy(&now, word, sizeof(now));
	now = flip ? now ^ value : value;
	memcpy(word, &now, sizeof(now));
}

// Members that died, groups without members, and what telemetry shows.
static void housekeep(struct bench *bench)
{
	struct evring_group_state state;
	unsigned group;

	evring_reap(bench->ring);
	for (unsigned i = 0; i <= EVRING_MAX_GROUPS; i++) {
		if (evring_group(bench->ring, i, &state))
			FUZZ_CHECK(memchr(state.name, 0, sizeof(state.name)));
		if (evring_decisions(bench->ring, i, &group))
			FUZZ_CHECK(group < EVRING_MAX_GROUPS);
	}
	FUZZ_CHECK(evring_undecided(bench->ring) <= (uint64_t)SLOTS * EVRING_MAX_GROUPS);
	FUZZ_CHECK(!evring_is_cut(bench->ring));
}

static void check_reader(struct evb_ring *ring)
{
	evb_ring_check_living(ring);
	evb_ring_check_end(ring);
	if (ring->over && ring->is_member)
		(void)evb_ring_waits_for_decisions(ring);
}

static void rejoin(struct member *member, unsigned index)
{
	char error[EVRING_ERROR_SIZE];

	if (!member->ring.is_member)
		return;
	evring_leave(&member->ring.view, &member->ring.membership);
	member->n_held = 0;
	member->ring.is_member = false;
	if (evb_ring_join(&member->ring, group_names[index], error) != 0)
		evb_ring_spy(&member->ring);
}

static void step(struct bench *bench, const uint8_t *bytes)
{
	const uint64_t value = load_le64(bytes + 4);
	const uint8_t which = bytes[1];
	struct member *member = &bench->members[which % MEMBERS];

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
		take(bench, member);
		break;
	case 5:
		release(member, which / MEMBERS);
		break;
	case 6:
		look(bench);
		break;
	case 7:
		housekeep(bench);
		break;
	case 8:
		check_reader(which & 128 ? &bench->spy : &member->ring);
		break;
	case 9:
		rejoin(member, which % MEMBERS);
		break;
	case 10:
	case 11:
		decide(member, which / MEMBERS, value);
		break;
	case 12:
		evring_settle(bench->ring);
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
