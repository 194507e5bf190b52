// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/control_internal.h"

#define NS_PER_US   1000u
#define INTERVAL_NS 5000000u // clocks drift apart by at most 0.5 us in this time

void control_clock_poll(struct control *control)
{
	const struct control_role_parameters *p = &control->parameters;
	struct message message = { .kind = MESSAGE_CLOCK, .event = control->now_tsc };
	struct control_clock_estimate clock;

	if (!p->shares_clock || control->now < control->next_clock ||
	    !control_clock(control->endpoint, cluster_node_manager(control->node), control->now,
			   &clock))
		return;
	control->next_clock = control->now + INTERVAL_NS;
	counter_add(&control->counters.clock_error,
		    (uint64_t)clock.error_us * NS_PER_US - control->counters.clock_error);
	message.bytes = (uint32_t)(control->now / NS_PER_US) + clock.offset_us;
	// If a mailbox is full, the readout gets the next one.
	for (unsigned i = 0; i < p->n_readouts; i++)
		(void)mailbox_put(&p->readout_mail[i][0], &message);
	// A builder's mailbox has room for one message more than the logic sends.
	for (unsigned i = 0; i < p->n_builders; i++)
		if (mailbox_is_empty(&p->builder_mail[i][0]))
			(void)mailbox_put(&p->builder_mail[i][0], &message);
}
