// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "built.h"

#include <string.h>

#include <rte_cycles.h>

#include "builder/assembly_internal.h"
#include "builder/builder_role.h"

#define NAME   "built"
#define CANARY 0xC5

static void make_ring(struct built *built, unsigned builder)
{
	static const char *const group = "main";
	const struct evring_parameters parameters = {
		.name = NAME,
		.directory = testbed_directory(),
		.builder = builder,
		.n_builders = BENCH_BUILDERS,
		.slots = BUILT_SLOTS,
		.slot_size = BUILT_SLOT_SIZE,
		.groups = &group,
		.n_groups = 1,
	};
	char error[EVRING_ERROR_SIZE];

	if (evring_create(&built->rings[builder], &parameters, error) != 0)
		fail_msg("%s", error);
	assert_int_equal(evring_slot_size(built->rings[builder]), BUILT_SLOT_SIZE);
	memset(evring_slot(built->rings[builder], 0), CANARY,
	       (size_t)BUILT_SLOTS * BUILT_SLOT_SIZE);
}

static const struct assembly *assembly_of(const struct built *built, unsigned builder)
{
	return builder_role_assembly(built->builders[builder]);
}

static void tell(struct built *built)
{
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		const struct assembly *assembly = assembly_of(built, i);

		built->bench->told[i] = (struct roce_slots_state){
			.free = built->holds ? 0 : assembly_free_slots(assembly),
			.opened = assembly_counters(assembly)->events_opened,
		};
	}
}

void built_open(struct built *built, struct roce_bench *bench)
{
	const struct evb_reader_options reader = { .directory = testbed_directory() };

	*built = (struct built){ .bench = bench };
	for (unsigned i = 0; i < BENCH_BUILDERS; i++)
		make_ring(built, i);
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		const struct builder_parameters parameters = {
			.name = i == 0 ? "builder.b0" : "builder.b1",
			.packing = bench->config->sources.packing,
			.payload = bench->config->sources.payload,
			.on_incomplete = bench->config->events.on_incomplete,
			.on_no_slot = bench->config->events.on_no_slot,
			.deadline_ns = bench->config->events.deadline_ns,
			.ring = built->rings[i],
			.sources = bench->sources,
			.links = &bench->links[i],
			.n_links = 1,
		};

		built->builders[i] = builder_role_create(&parameters);
		assert_non_null(built->builders[i]);
	}
	assert_int_equal(evb_reader_open(&built->reader, NAME, &reader), 0);
	bench->now = RTE_MAX(bench->now, rte_rdtsc());
	tell(built);
}

static void expect_canaries(const uint8_t *bytes, uint64_t size)
{
	static uint8_t canaries[BUILT_SLOT_SIZE];

	if (canaries[0] == 0)
		memset(canaries, CANARY, sizeof(canaries));
	if (memcmp(bytes, canaries, size) != 0) // cmocka compares byte by byte
		assert_memory_equal(bytes, canaries, size);
}

static void take_event(struct built *built, const struct evb_event *event)
{
	uint8_t *slot = evring_slot(built->rings[event->builder], event->slot);
	uint64_t scratch[BUILT_SOURCES];
	struct mep mep;

	assert_int_equal(mep_decode(event->data, event->length, &mep), WIRE_OK);
	assert_true(mep.n_mfps <= BUILT_SOURCES);
	assert_int_equal(mep_check(&mep, scratch), WIRE_OK);
	expect_canaries(slot + event->length, BUILT_SLOT_SIZE - event->length);
	if (built->look != NULL)
		built->look(built->context, event, &mep);
	built->events++;
	built->complete += (event->flags & EVB_EVENT_INCOMPLETE) == 0;
	memset(slot, CANARY, event->length);
	assert_int_equal(evb_reader_release(built->reader, event), 0);
}

void built_poll(struct built *built)
{
	struct evb_event event;

	built->polls++;
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		struct role *builder = built->builders[i];

		(void)role_poll(builder, built->bench->now);
		if (built->polls % 16 == 0)
			builder->operations->housekeep(builder, built->bench->now);
	}
	while (!built->holds && evb_reader_next(built->reader, &event, 0) == 1)
		take_event(built, &event);
	tell(built);
}

// No event is open but the end of the run, if a damaged packet announces it: that stays open until
// more than half of the sources have announced it.
static void expect_closed(const struct assembly *assembly)
{
	if (assembly_open_events(assembly) == 0)
		return;
	assert_int_equal(assembly_open_events(assembly), 1);
	assert_int_equal(assembly->order.oldest, BUILT_SLOTS);
	assert_true(is_end_of_run(&assembly->events[assembly->order.oldest]));
}

void built_settle(struct built *built)
{
	const uint64_t deadline = built->bench->config->events.deadline_ns;

	built->holds = false;
	for (unsigned i = 0; i < 64; i++) {
		built->bench->now += (uint64_t)((double)deadline * 1e-9 * (double)rte_get_tsc_hz());
		built_poll(built);
	}
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		expect_closed(assembly_of(built, i));
		assert_int_equal(assembly_free_slots(assembly_of(built, i)), BUILT_SLOTS);
		for (uint32_t slot = 0; slot < BUILT_SLOTS; slot++)
			expect_canaries(evring_slot(built->rings[i], slot), BUILT_SLOT_SIZE);
	}
}

void built_close(struct built *built)
{
	built_settle(built);
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		const struct assembly_counters *counters = assembly_counters(assembly_of(built, i));
		uint64_t n = counters->placed;

		for (unsigned j = 0; j < SEGMENT_N_CAUSES; j++)
			n += counters->drops[j];
		assert_int_equal(counters->segments, n);
		assert_int_equal(built->bench->links[i]->counters.enqueued, n);
	}
	evb_reader_close(built->reader);
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		built->builders[i]->operations->fini(built->builders[i]);
		evring_destroy(built->rings[i]);
	}
}
