// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "deaths.h"

#include "stories.h"

#define SPAN  (50 * MS)
#define SPANS 20u

static uint64_t published_in(struct farm *farm, uint64_t duration)
{
	const uint64_t before = farm->n_published;

	farm_run(farm, duration);
	return farm->n_published - before;
}

// A node is killed. After `patience` the others have to publish 1 / `share` of what all did.
static void others_publish(struct farm *farm, unsigned (*some_node)(struct farm *),
			   uint64_t patience, unsigned share)
{
	const uint64_t before = published_in(farm, SECOND);
	uint64_t published;

	farm_kill(farm, some_node(farm));
	farm_run(farm, patience);
	published = published_in(farm, SECOND);
	if (published < before / share)
		farm_broken(farm, "without the dead node %ju events/s, with it %ju",
			    (uintmax_t)published, (uintmax_t)before);
}

// What its builders may have published holds the others back only until doubts end.
void others_go_on(struct farm *farm)
{
	others_publish(farm, other_builder, 700 * MS, 8);
}

// Nobody waits for its data, once it is missed and no event is in doubt any more.
void builders_go_on(struct farm *farm)
{
	others_publish(farm, some_readout, 800 * MS, 2);
}

static void others_go_on_at_once(struct farm *farm, unsigned node)
{
	const uint64_t before = published_in(farm, SPANS * SPAN) / SPANS;

	farm_kill(farm, node);
	for (unsigned i = 0; i < SPANS; i++) {
		const uint64_t published = published_in(farm, SPAN);

		if (published < before / 2)
			farm_broken(farm, "%ju to %ju ms after its end %ju events, %ju before",
				    (uintmax_t)(i * SPAN / MS), (uintmax_t)((i + 1) * SPAN / MS),
				    (uintmax_t)published, (uintmax_t)before);
	}
}

void builder_leaves_a_will(struct farm *farm)
{
	others_go_on_at_once(farm, other_builder(farm));
}

void readout_leaves_a_will(struct farm *farm)
{
	others_go_on_at_once(farm, some_readout(farm));
}

void nodes_leave_wills_at_once(struct farm *farm)
{
	for (unsigned i = 0; i < 8; i++) {
		farm_restart(farm, i % 2 == 0 ? some_readout(farm) : other_builder(farm));
		farm_run(farm, farm_below(farm, 120 * MS));
	}
	farm_run(farm, SECOND);
}
