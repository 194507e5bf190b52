// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pair.h"

struct watched watched;

struct network_options pair_options(void)
{
	return (struct network_options){
		.n_stations = 2,
		.seed = 1,
		.delay_min = DELAY,
		.delay_max = DELAY,
		.parameters = control_defaults(),
	};
}

// Two stations that know each other, over a network without faults.
void pair_open(struct network *network, const struct network_options *options)
{
	network_open(network, options);
	network_run(network, 230 * MS); // the next heartbeats are 70 ms away
	assert_int_equal(network->stations[0].links[1].events[CONTROL_CONNECTED], 1);
	assert_int_equal(network->stations[1].links[0].events[CONTROL_CONNECTED], 1);
}

void pair_send(struct network *network, unsigned n, size_t size)
{
	for (unsigned i = 0; i < n; i++)
		assert_true(network_send(network, 0, 1, size));
}

void pair_cut(struct network *network, bool cut)
{
	network->cut[0][1] = cut;
	network->cut[1][0] = cut;
}

static bool watch(struct network *network, const struct datagram *datagram)
{
	struct ctrl_frame frame;
	const unsigned n = watched.n;

	assert_int_equal(ctrl_frame_decode(datagram->bytes, datagram->size, &frame), WIRE_OK);
	if (datagram->from != 0 || !(frame.header.flags & CTRL_SEQUENCED))
		return true;
	assert_true(n < 64);
	watched.n++;
	watched.at[n] = network->now;
	return !(watched.drop >> n & 1);
}

void pair_watch(struct network *network, uint64_t drop)
{
	memset(&watched, 0, sizeof(watched));
	watched.drop = drop;
	network->filter = watch;
}
