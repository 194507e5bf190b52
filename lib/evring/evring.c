// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builder's side. The builder's state of its slots lies in its own memory. From shared memory
// the builder reads only claim words and counters, so that a faulty reader cannot corrupt it.
#include "evring.h"
#include "evring_decision.h"
#include "evring_file.h"
#include "evring_members.h"
#include "evring_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Slots that one call of evring_reclaim() examines, at most.
#define RECLAIM_STEPS 128u

struct evring {
	struct evring_view view;    // constant after create
	struct evring_file file;    // control thread
	struct evring_guard *guard; // constant: of the whole file
	bool hugepages;             // constant
	struct evring_tally *tally; // builder: of the deciding groups
	uint32_t waiting;           // constant: bit g: group g waits for a decision
	uint32_t run_number;        // control thread, while no builder runs
	uint64_t deaths_seen;       // control thread: those reported by evring_reap() so far

	uint64_t head;                  // builder: number published
	_Atomic uint64_t n_outstanding; // builder: published and not reclaimed
	_Atomic uint64_t n_used;        // builder: slots that are not free

	// Outstanding slots, the oldest first: a doubly linked list of slot numbers whose head is
	// the number `n_slots`. holders[slot]: the groups to which the event was published. builder
	uint32_t *next;
	uint32_t *previous;
	uint8_t *holders;

	// The search for released slots. It walks through the list from the oldest to the newest
	// slot, over several calls if necessary. A new search starts when the sum of the release
	// counters has changed since the last search started. builder
	uint32_t search_at;       // slot to examine next; n_slots: no search is active
	uint64_t search_releases; // sum of the counters when the search started
	uint64_t unclaimed;       // events published to no group: their slots are free at once
};

static int check_parameters(const struct evring_parameters *parameters, char *error)
{
	if (parameters->name == NULL || !evring_name_is_valid(parameters->name))
		return evring_error(-EINVAL, error,
				    "name: expected 1 to %d characters of [A-Za-z0-9_-]",
				    EVRING_NAME_SIZE - 1);
	if (parameters->builder >= parameters->n_builders)
		return evring_error(-EINVAL, error, "builder %u of %u does not exist",
				    parameters->builder, parameters->n_builders);
	if (parameters->n_builders > EVRING_MAX_BUILDERS)
		return evring_error(-EINVAL, error, "%u builders are more than %u",
				    parameters->n_builders, EVRING_MAX_BUILDERS);
	if (parameters->n_groups > EVRING_MAX_GROUPS)
		return evring_error(-EINVAL, error, "%u groups are more than %d",
				    parameters->n_groups, EVRING_MAX_GROUPS);
	for (unsigned i = 0; i < parameters->n_groups; i++)
		if (!evring_name_is_valid(parameters->groups[i]))
			return evring_error(
			    -EINVAL, error,
			    "group %u: expected 1 to %d characters of [A-Za-z0-9_-]", i,
			    EVRING_NAME_SIZE - 1);
	return evring_rules_check(parameters, error);
}

static int check_size(const struct evring_parameters *parameters, char *error)
{
	struct evring_header plan;

	if (parameters->slots == 0 || parameters->slots > EVRING_MAX_SLOTS)
		return evring_error(-EINVAL, error, "%u slots are out of range 1..%u",
				    parameters->slots, EVRING_MAX_SLOTS);
	if (!evring_layout_plan(&plan, parameters->slots, parameters->slot_size,
				EVRING_SLOT_ALIGNMENT))
		return evring_error(-EINVAL, error, "%u slots of %llu bytes are not possible",
				    parameters->slots, (unsigned long long)parameters->slot_size);
	return 0;
}

static void fill_header(struct evring *ring, const struct evring_parameters *parameters,
			const struct evring_header *plan)
{
	struct evring_header *header = ring->file.memory;

	*header = *plan;
	header->magic = EVRING_MAGIC;
	header->layout_version = EVRING_LAYOUT_VERSION;
	header->owner = evring_owner();
	header->owner_pid = (uint32_t)getpid();
	header->run_number = ring->run_number = parameters->run_number;
	header->builder = parameters->builder;
	header->n_builders = parameters->n_builders;
	memcpy(header->name, parameters->name, strlen(parameters->name));
	atomic_init(&header->state, EVRING_RUNNING);

	evring_view_set(&ring->view, ring->file.file, ring->file.members, ring->file.memory, plan);
	for (unsigned i = 0; i < parameters->n_groups; i++)
		// There is room: check_parameters() has checked the number.
		(void)evring_group_enter(&ring->view, parameters->groups[i], true);
	ring->waiting = evring_rules_enter(&ring->view, parameters);
}

static int make_in(struct evring *ring, const struct evring_parameters *parameters,
		   const struct evring_directory *directory,
		   const struct evring_directories *searched, char *error)
{
	struct evring_header plan;
	int rc;

	if (!evring_layout_plan(&plan, parameters->slots, parameters->slot_size,
				directory->page_size))
		return evring_error(-EINVAL, error, "%s: the ring is larger than any file",
				    directory->path);
	rc = evring_file_make(&ring->file, parameters, directory, searched, &plan, error);
	if (rc != 0)
		return rc;
	fill_header(ring, parameters, &plan);
	rc = evring_file_show(&ring->file, error);
	if (rc != 0)
		evring_file_discard(&ring->file, plan.file_size);
	else
		ring->guard = evring_guard_add(ring->file.memory, plan.file_size);
	ring->hugepages = directory->hugepages;
	return rc;
}

uint64_t evring_bytes(uint32_t slots, uint64_t slot_size)
{
	struct evring_header plan;

	return evring_layout_plan(&plan, slots, slot_size, 1) ? plan.file_size : 0;
}

static bool directory_serves(const struct evring_directory *directory,
			     const struct evring_parameters *parameters)
{
	if (parameters->directory != NULL || parameters->memory == EVRING_AUTO)
		return true;
	return directory->hugepages == (parameters->memory == EVRING_HUGEPAGES);
}

// Tries the directories in turn until one has enough memory.
static int make_file(struct evring *ring, const struct evring_parameters *parameters, char *error)
{
	struct evring_directories directories;
	int rc = evring_directories_find(&directories, parameters->directory, error);

	if (rc != 0)
		return rc;
	rc = evring_error(-ENOSPC, error, "no directory for the ring: %s",
			  parameters->memory == EVRING_SHM ? "/dev/shm is missing"
							   : "no hugetlbfs is mounted");
	for (unsigned i = 0; i < directories.count && rc != 0 && rc != -EEXIST; i++)
		if (directory_serves(&directories.list[i], parameters))
			rc = make_in(ring, parameters, &directories.list[i], &directories, error);
	return rc;
}

static bool make_lists(struct evring *ring, uint32_t slots)
{
	ring->next = calloc(slots + 1, sizeof(*ring->next));
	ring->previous = calloc(slots + 1, sizeof(*ring->previous));
	ring->holders = calloc(slots, sizeof(*ring->holders));
	ring->tally = calloc(1, sizeof(*ring->tally));
	if (ring->next == NULL || ring->previous == NULL || ring->holders == NULL ||
	    ring->tally == NULL)
		return false;
	ring->next[slots] = ring->previous[slots] = slots;
	ring->search_at = slots;
	return true;
}

static void free_ring(struct evring *ring)
{
	free(ring->next);
	free(ring->previous);
	free(ring->holders);
	free(ring->tally);
	free(ring);
}

int evring_create(struct evring **ring, const struct evring_parameters *parameters, char *error)
{
	struct evring *new_ring;
	int rc = check_parameters(parameters, error);

	*ring = NULL;
	evring_guard_start();
	if (rc == 0)
		rc = check_size(parameters, error);
	if (rc != 0)
		return rc;
	new_ring = calloc(1, sizeof(*new_ring));
	if (new_ring == NULL || !make_lists(new_ring, parameters->slots)) {
		rc = evring_error(-ENOMEM, error, "%s", strerror(ENOMEM));
	} else {
		rc = make_file(new_ring, parameters, error);
	}
	if (rc == 0)
		*ring = new_ring;
	else if (new_ring != NULL)
		free_ring(new_ring);
	return rc;
}

void evring_end(struct evring *ring)
{
	// Release: a reader that sees the end also sees all published events.
	atomic_store_explicit(&ring->view.header->state, EVRING_ENDED, memory_order_release);
}

void evring_end_run(struct evring *ring)
{
	atomic_store_explicit(&ring->view.header->state, EVRING_BETWEEN_RUNS, memory_order_release);
}

void evring_begin_run(struct evring *ring, uint32_t run_number)
{
	struct evring_header *header = ring->view.header;

	ring->run_number = run_number;
	__atomic_store_n(&header->run_number, run_number, __ATOMIC_RELAXED);
	atomic_store_explicit(&header->state, EVRING_RUNNING, memory_order_release);
}

void evring_destroy(struct evring *ring)
{
	if (ring == NULL)
		return;
	evring_end(ring);
	evring_guard_remove(ring->guard);
	evring_file_discard(&ring->file, ring->view.file_size);
	free_ring(ring);
}

const char *evring_path(const struct evring *ring)
{
	return ring->file.path;
}

bool evring_on_hugepages(const struct evring *ring)
{
	return ring->hugepages;
}

uint8_t *evring_slot(const struct evring *ring, uint32_t slot)
{
	assert(slot < ring->view.n_slots);
	return ring->view.slots + slot * ring->view.slot_size;
}

uint64_t evring_slot_size(const struct evring *ring)
{
	return ring->view.slot_size;
}

uint32_t evring_slots(const struct evring *ring)
{
	return ring->view.n_slots;
}

void evring_begin(struct evring *ring, uint32_t slot)
{
	assert(slot < ring->view.n_slots);
	atomic_store_explicit(&ring->view.descriptors[slot].filled, 0, memory_order_relaxed);
	// No write into the slot may become visible before the 0: a spy that sees new bytes and
	// then reads `filled` must find it changed. Pairs with the fence in evb_ring_is_intact().
	atomic_thread_fence(memory_order_release);
}

// Marks the slot READY for every active group, and WAITING for those that wait for a decision.
// Returns these groups.
static uint32_t mark_ready(struct evring *ring, uint32_t slot, uint64_t sequence)
{
	struct evring_header *header = ring->view.header;
	_Atomic uint64_t *claims = ring->view.descriptors[slot].claims;
	const uint64_t ready = evring_claim_word(EVRING_READY, sequence, 0, 0);
	const uint64_t waiting = evring_claim_word(EVRING_WAITING, sequence, 0, 0);
	const uint32_t groups = atomic_load_explicit(&header->active_groups, memory_order_acquire);
	uint32_t gone;

	if (groups == 0)
		return 0;
	for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++)
		if ((groups >> g & 1) != 0)
			atomic_store_explicit(&claims[g],
					      (ring->waiting >> g & 1) != 0 ? waiting : ready,
					      memory_order_relaxed);
	// Pairs with the fence in dissolve() of evring_members.c: where a group is dissolved at
	// this moment, either dissolve() sees the READY word, or this function sees that the group
	// is gone.
	atomic_thread_fence(memory_order_seq_cst);
	gone = groups & ~atomic_load_explicit(&header->active_groups, memory_order_relaxed);
	for (unsigned g = 0; gone != 0 && g < EVRING_MAX_GROUPS; g++)
		if ((gone >> g & 1) != 0)
			atomic_store_explicit(&claims[g], 0, memory_order_relaxed);
	return groups & ~gone;
}

static void append(struct evring *ring, uint32_t slot)
{
	const uint32_t end = ring->view.n_slots;
	const uint32_t last = ring->previous[end];

	ring->next[last] = slot;
	ring->previous[slot] = last;
	ring->next[slot] = end;
	ring->previous[end] = slot;
}

void evring_publish(struct evring *ring, uint32_t slot, const struct evring_event *event)
{
	struct evring_view *view = &ring->view;
	struct evring_descriptor *descriptor = &view->descriptors[slot];
	const uint64_t sequence = ring->head;
	uint32_t groups;

	assert(slot < view->n_slots);
	assert(event->length <= view->slot_size);

	descriptor->event = *event;
	descriptor->run_number = ring->run_number;
	groups = mark_ready(ring, slot, sequence);
	atomic_store_explicit(&view->queue[sequence & (view->queue_size - 1)],
			      evring_entry(sequence, slot), memory_order_relaxed);
	// Release: a spy that reads this value before and after it reads the slot has seen the slot
	// and the descriptor of this event and of no other.
	atomic_store_explicit(&descriptor->filled, sequence + 1, memory_order_release);
	ring->head = sequence + 1;
	// Release: a reader that sees the new head sees the slot, the descriptor, the claim words
	// and the queue entry. This store publishes the event.
	atomic_store_explicit(&view->header->head, ring->head, memory_order_release);

	ring->holders[slot] = (uint8_t)groups;
	ring->unclaimed += groups == 0;
	append(ring, slot);
	atomic_store_explicit(&ring->n_outstanding,
			      atomic_load_explicit(&ring->n_outstanding, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

// A sum that changes whenever a slot may have become free. Acquire: pairs with the increments after
// a release.
static uint64_t count_releases(const struct evring *ring)
{
	uint64_t sum = ring->unclaimed;

	for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++) {
		const struct evring_group_area *group = &ring->view.header->groups[g];

		sum += atomic_load_explicit(&group->released, memory_order_acquire);
		sum += atomic_load_explicit(&group->returns, memory_order_acquire);
	}
	return sum;
}

static bool is_free(const struct evring *ring, uint32_t slot)
{
	const struct evring_descriptor *descriptor = &ring->view.descriptors[slot];

	for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++)
		// Acquire: the member finished reading the slot before it released the slot.
		if ((ring->holders[slot] >> g & 1) != 0 &&
		    evring_claim_state(atomic_load_explicit(&descriptor->claims[g],
							    memory_order_acquire)) != EVRING_IDLE)
			return false;
	return true;
}

static void remove_from_list(struct evring *ring, uint32_t slot)
{
	ring->next[ring->previous[slot]] = ring->next[slot];
	ring->previous[ring->next[slot]] = ring->previous[slot];
}

unsigned evring_reclaim(struct evring *ring, uint32_t *slots, unsigned max)
{
	const uint32_t end = ring->view.n_slots;
	unsigned found = 0;

	if (ring->search_at == end) {
		const uint64_t releases = count_releases(ring);

		if (releases == ring->search_releases)
			return 0;
		ring->search_releases = releases;
		ring->search_at = ring->next[end];
	}
	for (unsigned step = 0; step < RECLAIM_STEPS && found < max && ring->search_at != end;
	     step++) {
		const uint32_t slot = ring->search_at;

		ring->search_at = ring->next[slot];
		if (!is_free(ring, slot))
			continue;
		remove_from_list(ring, slot);
		evring_tally_add(ring->tally, &ring->view, slot);
		slots[found++] = slot;
	}
	atomic_store_explicit(&ring->n_outstanding,
			      atomic_load_explicit(&ring->n_outstanding, memory_order_relaxed) -
				  found,
			      memory_order_relaxed);
	return found;
}

unsigned evring_reap(struct evring *ring)
{
	const uint64_t seen = ring->deaths_seen;

	(void)evring_bury_members(&ring->view, -1); // `deaths` counts also those that readers bury
	evring_dissolve_groups(&ring->view);
	ring->deaths_seen = atomic_load_explicit(&ring->view.header->deaths, memory_order_relaxed);
	return (unsigned)(ring->deaths_seen - seen);
}

bool evring_is_cut(const struct evring *ring)
{
	return evring_guard_hit(ring->guard) ||
	       evring_file_is_cut(ring->view.file, ring->view.file_size);
}

uint64_t evring_outstanding(const struct evring *ring)
{
	return atomic_load_explicit(&ring->n_outstanding, memory_order_relaxed);
}

void evring_set_used(struct evring *ring, uint64_t used)
{
	atomic_store_explicit(&ring->n_used, used, memory_order_relaxed);
}

uint64_t evring_used(const struct evring *ring)
{
	return atomic_load_explicit(&ring->n_used, memory_order_relaxed);
}

bool evring_group(const struct evring *ring, unsigned index, struct evring_group_state *state)
{
	const struct evring_header *header = ring->view.header;
	const struct evring_group_area *group;
	const struct evring_decider *before;
	uint64_t cursor, head;

	if (index >= EVRING_MAX_GROUPS)
		return false;
	group = &header->groups[index];
	if (atomic_load_explicit(&group->use, memory_order_acquire) != EVRING_GROUP_USED)
		return false;
	// The cursor is read first, so that the head is not below it.
	cursor = atomic_load_explicit(&group->cursor, memory_order_acquire);
	before = evring_decider_before(&ring->view, index);
	head = atomic_load_explicit(before != NULL ? &before->logged : &header->head,
				    memory_order_acquire);
	memset(state, 0, sizeof(*state));
	memcpy(state->name, group->name, sizeof(state->name) - 1);
	state->persistent = group->persistent != 0;
	state->members = evring_group_members(&ring->view, index);
	state->delivered = atomic_load_explicit(&group->delivered, memory_order_relaxed);
	state->released = atomic_load_explicit(&group->released, memory_order_relaxed);
	state->regained = atomic_load_explicit(&group->regained, memory_order_relaxed);
	state->lag = head - cursor;
	return true;
}

uint64_t evring_published(const struct evring *ring)
{
	return atomic_load_explicit(&ring->view.header->head, memory_order_relaxed);
}

const struct evring_decisions *evring_decisions(const struct evring *ring, unsigned index,
						unsigned *group)
{
	if (index >= ring->view.header->n_deciders || index >= EVRING_MAX_DECIDERS)
		return NULL;
	*group = ring->view.header->deciders[index].group % EVRING_MAX_GROUPS;
	return &ring->tally->deciders[index];
}

uint32_t evring_member_pid(const struct evring *ring, unsigned group, unsigned member)
{
	const struct evring_member_area *area;
	uint32_t word;

	if (member >= EVRING_MAX_MEMBERS)
		return 0;
	area = &ring->view.header->members[member];
	word = atomic_load_explicit(&area->word, memory_order_acquire);
	return evring_member_used(word) && evring_member_group(word) == group
		   ? __atomic_load_n(&area->pid, __ATOMIC_RELAXED)
		   : 0;
}

uint64_t evring_undecided(const struct evring *ring)
{
	return evring_rules_undecided(&ring->view);
}

void evring_settle(struct evring *ring)
{
	evring_rules_settle(&ring->view);
}

// --- what groups hold ----------------------------------------------------------------------------

// The member of each group with its oldest claimed event, and all members with one.
struct holders {
	unsigned oldest[EVRING_MAX_GROUPS];
	uint64_t members[EVRING_MAX_GROUPS]; // bit m: member m
};

static_assert(EVRING_MAX_MEMBERS <= 64, "members are bits of a word");

static unsigned member_of(uint64_t word)
{
	return (unsigned)(word >> 16 & 0xff) % EVRING_MAX_MEMBERS;
}

// Sequences are compared modulo 2^40.
static bool is_before(uint64_t a, uint64_t b)
{
	return ((b - a) & EVRING_SEQUENCE_MASK) <= EVRING_SEQUENCE_MASK / 2;
}

static void add_claim(struct evring_hold *hold, struct holders *holders, unsigned group,
		      uint64_t word)
{
	const enum evring_claim state = evring_claim_state(word);
	const uint64_t sequence = evring_claim_sequence(word);

	if (state == EVRING_IDLE || state == EVRING_WAITING)
		return;
	hold->slots++;
	if (state != EVRING_CLAIMED)
		return;
	if (hold->claimed++ == 0 || is_before(sequence, hold->oldest)) {
		hold->oldest = sequence;
		holders->oldest[group] = member_of(word);
	}
	holders->members[group] |= UINT64_C(1) << member_of(word);
}

void evring_holds(const struct evring *ring, struct evring_hold holds[EVRING_MAX_GROUPS])
{
	const struct evring_view *view = &ring->view;
	struct holders holders = { 0 };

	memset(holds, 0, EVRING_MAX_GROUPS * sizeof(holds[0]));
	for (uint32_t slot = 0; slot < view->n_slots; slot++)
		for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++)
			add_claim(&holds[g], &holders, g,
				  atomic_load_explicit(&view->descriptors[slot].claims[g],
						       memory_order_relaxed));
	for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++) {
		holds[g].members = (uint32_t)__builtin_popcountll(holders.members[g]);
		if (holds[g].claimed > 0)
			holds[g].pid = __atomic_load_n(
			    &view->header->members[holders.oldest[g]].pid, __ATOMIC_RELAXED);
	}
}
