// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "reader_ring.h"
#include "evring_decision.h"
#include "evring_lock.h"
#include "evring_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static_assert(EVRING_NAME_SIZE == 32, "evb_reader.h says 31 characters");

// Checks the header of an open ring file, and that its process lives.
static int check_file(int file, uint64_t size, struct evring_header *header, const char *path,
		      char *error)
{
	char why[EVRING_ERROR_SIZE];
	int rc;

	// An incomplete header is found by the check.
	(void)!pread(file, header, sizeof(*header), 0);
	rc = evring_layout_check(header, size, why);
	if (rc != 0)
		return evring_error(rc, error, "%s: %s", path, why);
	if (!evring_lock_is_held(file, EVRING_LOCK_OWNER))
		return evring_error(-ESTALE, error, "%s: its process (%u) is dead", path,
				    header->owner_pid);
	return 0;
}

// Opens members.N after ring.N and before the check that the process lives: then both are of one
// run, because a later run makes its files only after that process's death.
static int open_members(const char *place, unsigned builder, char *error)
{
	char path[EVRING_PATH_SIZE];
	uint64_t size;
	int file = -ENAMETOOLONG;

	if (evring_place_path(path, place, EVRING_FILE_MEMBERS, builder))
		file = evring_open_file(path, O_RDWR, &size);
	if (file < 0)
		evring_error(file, error, "%s: %s", path, strerror(-file));
	return file;
}

int evb_ring_open(struct evb_ring *ring, const char *place, unsigned builder, bool writable,
		  char *error)
{
	struct evring_header header = { 0 };
	char path[EVRING_PATH_SIZE];
	int file, members = -1, rc = 0;
	uint64_t size;

	if (!evring_place_path(path, place, EVRING_FILE_RING, builder))
		return evring_error(-ENAMETOOLONG, error, "%s: %s", place, strerror(ENAMETOOLONG));
	file = evring_open_file(path, writable ? O_RDWR : O_RDONLY, &size);
	if (file < 0)
		return evring_error(file, error, "%s: %s", path, strerror(-file));
	if (writable) {
		members = open_members(place, builder, error);
		rc = members < 0 ? members : 0;
	}
	if (rc == 0)
		rc = check_file(file, size, &header, path, error);
	if (rc == 0) {
		rc = evring_view_map(&ring->view, file, members, &header);
		if (rc != 0)
			evring_error(rc, error, "%s: cannot be mapped: %s", path, strerror(-rc));
		ring->n_builders = header.n_builders;
	}
	if (rc != 0) {
		close(file);
		if (members >= 0)
			close(members);
	}
	return rc;
}

int evb_ring_join(struct evb_ring *ring, const char *group, char *error)
{
	const int rc = evring_join(&ring->view, group, &ring->membership, error);
	const struct evring_view *view = &ring->view;

	ring->queue = view->queue;
	ring->head = &view->header->head;
	if (rc == 0) {
		ring->decides = evring_decider_of(view, ring->membership.group);
		ring->after = evring_decider_before(view, ring->membership.group);
	}
	if (ring->after != NULL) {
		ring->queue =
		    view->logs + evring_decider_index(view, ring->after) * view->queue_size;
		ring->head = &ring->after->logged;
	}
	// One search at the start: events may have been returned while the group had no member.
	ring->searching = true;
	ring->search_at = 0;
	ring->search_returns = 0;
	ring->is_member = rc == 0;
	return rc;
}

void evb_ring_spy(struct evb_ring *ring)
{
	const uint64_t head = atomic_load_explicit(&ring->view.header->head, memory_order_acquire);

	ring->is_member = false;
	ring->next = head > 0 ? head - 1 : 0;
}

void evb_ring_close(struct evb_ring *ring)
{
	if (ring->is_member)
		evring_leave(&ring->view, &ring->membership);
	evring_view_unmap(&ring->view);
}

static void fill_event(const struct evb_ring *ring, uint32_t slot, uint64_t sequence,
		       const struct evring_event *from, struct evb_event *event)
{
	const struct evring_view *view = &ring->view;
	// Read once: a faulty member may change it after the comparison.
	const uint64_t length = __atomic_load_n(&from->length, __ATOMIC_RELAXED);
	// An evb before 1.1 of this library serves one run, and writes 0.
	const uint32_t run = view->descriptors[slot].run_number;

	*event = (struct evb_event){
		.event_id = from->event_id,
		.data = view->slots + slot * view->slot_size,
		.length = length <= view->slot_size ? length : view->slot_size,
		.first_ns = from->first_ns,
		.complete_ns = from->complete_ns,
		.flags = from->flags,
		.run_number = run != 0 ? run : view->header->run_number,
		.n_sources = from->n_sources,
		.n_missing = from->n_missing,
		.slot = slot,
		.sequence = sequence,
	};
}

static struct evring_group_area *my_group(const struct evb_ring *ring)
{
	return &ring->view.header->groups[ring->membership.group];
}

static uint64_t my_claim(const struct evb_ring *ring, uint64_t sequence)
{
	return evring_claim_word(EVRING_CLAIMED, sequence, ring->membership.member,
				 ring->membership.generation);
}

// Tries to change a claim word to CLAIMED by this member. Acquire: the event is read afterwards.
static bool claim(const struct evb_ring *ring, uint32_t slot, uint64_t from)
{
	_Atomic uint64_t *word = &ring->view.descriptors[slot].claims[ring->membership.group];

	return atomic_compare_exchange_strong_explicit(word, &from,
						       my_claim(ring, evring_claim_sequence(from)),
						       memory_order_acq_rel, memory_order_relaxed);
}

static void add_decision(const struct evb_ring *ring, uint32_t slot, struct evb_event *event)
{
	const struct evring_view *view = &ring->view;
	const struct evring_decision *decision =
	    &view->descriptors[slot].decisions[evring_decider_index(view, ring->after)];
	const uint64_t word = atomic_load_explicit(&decision->word, memory_order_acquire);

	event->decision = (struct evb_decision){
		.accept = (word & EVRING_DECIDED_ACCEPT) != 0,
		.lines = decision->lines,
		.tag = decision->tag,
	};
	event->decider = word >> 16 & 0xff;
	event->decided_ns = decision->decided_ns;
	if ((word & EVRING_DECIDED_BY_RELEASE) != 0)
		event->flags |= EVB_EVENT_UNDECIDED;
}

static void deliver(const struct evb_ring *ring, uint32_t slot, struct evb_event *event)
{
	const struct evring_descriptor *descriptor = &ring->view.descriptors[slot];
	const uint64_t filled = atomic_load_explicit(&descriptor->filled, memory_order_relaxed);

	// This member holds the slot, so the descriptor does not change.
	fill_event(ring, slot, filled - 1, &descriptor->event, event);
	if (ring->after != NULL)
		add_decision(ring, slot, event);
	atomic_fetch_add_explicit(&my_group(ring)->delivered, 1, memory_order_relaxed);
}

static bool next_returned(struct evb_ring *ring, struct evb_event *event)
{
	// Acquire: claim words that were changed before the counter are visible.
	const uint64_t returns =
	    atomic_load_explicit(&my_group(ring)->returns, memory_order_acquire);

	if (!ring->searching) {
		if (returns == ring->search_returns)
			return false;
		ring->searching = true;
		ring->search_returns = returns;
		ring->search_at = 0;
	}
	while (ring->search_at < ring->view.n_slots) {
		const uint32_t slot = ring->search_at++;
		const uint64_t word = atomic_load_explicit(
		    &ring->view.descriptors[slot].claims[ring->membership.group],
		    memory_order_relaxed);

		if ((evring_claim_state(word) == EVRING_RETURNED ||
		     (ring->search_ready && evring_claim_state(word) == EVRING_READY)) &&
		    claim(ring, slot, word)) {
			deliver(ring, slot, event);
			return true;
		}
	}
	ring->searching = false;
	ring->search_ready = false;
	return false;
}

// The next position of the cursor behind an entry that is no longer READY. If the entry was
// overwritten, the cursor is more than the queue's length behind the head, and moves to the oldest
// entry of the queue: no event before that entry is READY, since each READY event has its own slot
// and the queue has at least as many entries as there are slots. Only a log of decisions, in which
// a slot may be twice, may have lost entries of READY events: these are searched for.
static uint64_t cursor_after(const struct evb_ring *ring, uint64_t cursor, uint64_t head,
			     bool overwritten)
{
	if (overwritten && head - cursor > ring->view.queue_size)
		return head - ring->view.queue_size;
	return cursor + 1;
}

// Tries to claim the event of queue entry number `cursor`. A log entry names the slot only, since
// READY says that the event is to be delivered.
static bool claim_ready(const struct evb_ring *ring, uint32_t slot, uint64_t cursor)
{
	uint64_t word = evring_claim_word(EVRING_READY, cursor, 0, 0);

	if (ring->after != NULL)
		word = atomic_load_explicit(
		    &ring->view.descriptors[slot].claims[ring->membership.group],
		    memory_order_relaxed);
	return evring_claim_state(word) == EVRING_READY && claim(ring, slot, word);
}

static void search_for_ready(struct evb_ring *ring)
{
	ring->searching = true;
	ring->search_ready = true;
	ring->search_at = 0;
}

static bool next_ready(struct evb_ring *ring, struct evb_event *event)
{
	struct evring_group_area *group = my_group(ring);
	const struct evring_view *view = &ring->view;
	uint64_t cursor = atomic_load_explicit(&group->cursor, memory_order_acquire);

	for (;;) {
		// Acquire: all data up to the head is visible, claim words and queue included.
		const uint64_t head = atomic_load_explicit(ring->head, memory_order_acquire);
		uint64_t entry, after;
		uint32_t slot;
		bool is_current, won;

		if (cursor >= head)
			return false;
		entry = atomic_load_explicit(&ring->queue[cursor & (view->queue_size - 1)],
					     memory_order_relaxed);
		slot = evring_entry_slot(entry);
		is_current = evring_entry_is(entry, cursor) && slot < view->n_slots;
		won = is_current && claim_ready(ring, slot, cursor);
		if (!is_current && ring->after != NULL)
			search_for_ready(ring);

		// In both cases the entry is no longer READY (or it never was, because the group
		// was not active then). The member that claimed it may have died before it advanced
		// the cursor.
		after = cursor_after(ring, cursor, head, !is_current);
		if (atomic_compare_exchange_strong_explicit(
			&group->cursor, &cursor, after, memory_order_acq_rel, memory_order_acquire))
			cursor = after;
		if (won) {
			deliver(ring, slot, event);
			return true;
		}
	}
}

// Reads a descriptor while the builder may write it. Returns false if the slot has another event,
// or none.
static bool peek(const struct evb_ring *ring, uint32_t slot, uint64_t sequence,
		 struct evring_event *copy)
{
	const struct evring_descriptor *descriptor = &ring->view.descriptors[slot];

	if (atomic_load_explicit(&descriptor->filled, memory_order_acquire) != sequence + 1)
		return false;
	*copy = descriptor->event;
	// The copy is complete before `filled` is read again.
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&descriptor->filled, memory_order_relaxed) == sequence + 1;
}

static bool next_seen(struct evb_ring *ring, struct evb_event *event,
		      struct evb_reader_counters *counters)
{
	const struct evring_view *view = &ring->view;

	for (;;) {
		const uint64_t head =
		    atomic_load_explicit(&view->header->head, memory_order_acquire);
		struct evring_event copy;
		uint64_t entry, after;
		uint32_t slot;

		if (ring->next >= head)
			return false;
		entry = atomic_load_explicit(&view->queue[ring->next & (view->queue_size - 1)],
					     memory_order_relaxed);
		slot = evring_entry_slot(entry);
		if (evring_entry_is(entry, ring->next) && slot < view->n_slots &&
		    peek(ring, slot, ring->next, &copy)) {
			fill_event(ring, slot, ring->next++, &copy, event);
			return true;
		}
		// The builder has overwritten the event: continue with the newest one, which will
		// remain longest.
		after = head - 1 > ring->next ? head - 1 : ring->next + 1;
		counters->overruns += after - ring->next;
		ring->next = after;
	}
}

bool evb_ring_watch(struct evb_ring *ring, struct evb_event *event)
{
	const struct evring_view *view = &ring->view;

	while (ring->next < atomic_load_explicit(&view->header->head, memory_order_acquire)) {
		const uint64_t sequence = ring->next++;
		const uint64_t entry = atomic_load_explicit(
		    &view->queue[sequence & (view->queue_size - 1)], memory_order_relaxed);
		const uint32_t slot = evring_entry_slot(entry);
		struct evring_event copy;

		if (evring_entry_is(entry, sequence) && slot < view->n_slots &&
		    peek(ring, slot, sequence, &copy)) {
			*event = (struct evb_event){
				.event_id = copy.event_id,
				.complete_ns = copy.complete_ns,
				.sequence = sequence,
				.slot = slot,
			};
			return true;
		}
	}
	return false;
}

bool evb_ring_next(struct evb_ring *ring, struct evb_event *event,
		   struct evb_reader_counters *counters)
{
	bool found;

	if (!ring->is_member) {
		found = next_seen(ring, event, counters);
	} else if (next_returned(ring, event)) {
		counters->regained++;
		found = true;
	} else {
		found = next_ready(ring, event);
	}
	if (found) {
		counters->events++;
		counters->bytes += event->length;
	}
	return found;
}

static bool holds(const struct evb_ring *ring, const struct evb_event *event)
{
	return ring->is_member && event->slot < ring->view.n_slots &&
	       atomic_load_explicit(
		   &ring->view.descriptors[event->slot].claims[ring->membership.group],
		   memory_order_relaxed) == my_claim(ring, event->sequence);
}

int evb_ring_decide(struct evb_ring *ring, const struct evb_event *event,
		    const struct evb_decision *decision, uint64_t now_ns)
{
	const struct evring_verdict verdict = {
		.lines = decision->lines,
		.tag = decision->tag,
		.decided_ns = now_ns,
		.flags = decision->accept ? EVRING_DECIDED_ACCEPT : 0,
	};

	if (!holds(ring, event))
		return -EINVAL;
	if (ring->decides == NULL)
		return -EPERM;
	if (evring_is_decided(&ring->view, ring->decides, event->slot, event->sequence))
		return -EALREADY;
	evring_decide(&ring->view, ring->decides, event->slot, event->sequence,
		      ring->membership.member, &verdict);
	return 0;
}

int evb_ring_release(struct evb_ring *ring, const struct evb_event *event)
{
	uint64_t word = my_claim(ring, event->sequence);

	if (!holds(ring, event))
		return -EINVAL;
	if (ring->decides != NULL &&
	    !evring_is_decided(&ring->view, ring->decides, event->slot, event->sequence))
		evring_decide_undecided(&ring->view, ring->decides, event->slot, event->sequence,
					ring->membership.member);
	// Release: the builder writes into the slot only after this member has read it.
	if (!atomic_compare_exchange_strong_explicit(
		&ring->view.descriptors[event->slot].claims[ring->membership.group], &word, 0,
		memory_order_release, memory_order_relaxed))
		return -EINVAL;
	// Counted after the word is changed, so that a builder that sees the count sees the word.
	atomic_fetch_add_explicit(&my_group(ring)->released, 1, memory_order_release);
	return 0;
}

bool evb_ring_is_intact(const struct evb_ring *ring, const struct evb_event *event)
{
	if (event->slot >= ring->view.n_slots)
		return false;
	// The caller's reads of the slot precede the read of `filled`: if the builder had begun to
	// write by then, `filled` is 0 or the number of a later event. Pairs with evring_begin().
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&ring->view.descriptors[event->slot].filled,
				    memory_order_relaxed) == event->sequence + 1;
}

// Whether the slot's event waits for a decision, or was decided and is perhaps not in the log yet.
static bool is_due(const struct evb_ring *ring, uint32_t slot)
{
	const enum evring_claim state = evring_claim_state(atomic_load_explicit(
	    &ring->view.descriptors[slot].claims[ring->membership.group], memory_order_acquire));

	return state == EVRING_WAITING || state == EVRING_READY;
}

// After the end of the run no event begins to wait, so that a slot is examined until it waits no
// more. Members may join the deciding group as long as the appliance lives.
bool evb_ring_waits_for_decisions(struct evb_ring *ring)
{
	const struct evring_view *view = &ring->view;

	if (ring->after == NULL)
		return false;
	while (ring->waiting_at < view->n_slots && !is_due(ring, ring->waiting_at))
		ring->waiting_at++;
	return ring->waiting_at < view->n_slots &&
	       (!ring->dead ||
		evring_group_members(view, ring->after->group % EVRING_MAX_GROUPS) > 0);
}

bool evb_ring_has_ended(const struct evb_ring *ring)
{
	// Acquire: a reader that sees the end sees every event.
	const uint32_t state =
	    atomic_load_explicit(&ring->view.header->state, memory_order_acquire);

	return state == EVRING_ENDED || (ring->ends_with_run && state == EVRING_BETWEEN_RUNS);
}

void evb_ring_slots(const struct evb_ring *ring, struct evb_reader_slots *slots)
{
	const struct evring_view *view = &ring->view;
	struct statfs file_system;

	*slots = (struct evb_reader_slots){
		.address = view->slots,
		.length = view->file_size - view->control_size,
		.page_size = (size_t)sysconf(_SC_PAGESIZE),
		.slot_size = view->slot_size,
	};
	if (fstatfs(view->file, &file_system) == 0 && file_system.f_type == HUGETLBFS_MAGIC)
		slots->page_size = (size_t)file_system.f_bsize;
}

void evb_ring_check_end(struct evb_ring *ring)
{
	ring->over = ring->over || evb_ring_has_ended(ring);
}

void evb_ring_check_living(struct evb_ring *ring)
{
	// After the end of a run, only groups that wait for decisions ask whether its process
	// lives.
	if (!ring->dead && (!ring->over || ring->after != NULL))
		ring->dead = !evring_lock_is_held(ring->view.file, EVRING_LOCK_OWNER) ||
			     evring_file_is_cut(ring->view.file, ring->view.file_size);
	ring->over = ring->over || ring->dead;
	if (ring->is_member)
		// The number does not matter: the next search finds their events.
		(void)evring_bury_members(&ring->view, (int)ring->membership.member);
}
