// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The traffic models on an ideal network: the only limit is the link on which a host sends.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim_traffic/traffic.h"

#define HOSTS        8u
#define MAX_MESSAGES 400000u
#define BYTES_PER_S  1e9
#define DELAY        (2000 * SIM_NANOSECOND)
#define MILLISECONDS (1000000 * SIM_NANOSECOND)
#define CREDITS      4u
#define DATA         0u

struct net {
	struct sim_engine *engine;
	struct sim_traffic *traffic;
	struct sim_message *messages;
	uint32_t n;
	uint64_t busy_until[HOSTS];
	uint64_t sent[HOSTS][HOSTS]; // bytes of data
	uint64_t n_sent[HOSTS][HOSTS];
	unsigned handler;
	// Called for each message that is sent, or has arrived; may be NULL.
	void (*on_send)(struct net *net, const struct sim_message *message);
	void (*on_arrival)(struct net *net, const struct sim_message *message);
	bool has_fragment[HOSTS][CREDITS][HOSTS];
	unsigned n_fragments[HOSTS][CREDITS];
	unsigned n_events;
	unsigned to_slot[HOSTS][CREDITS]; // data in flight
	unsigned most_to_slot;            // 0: not limited
	unsigned in_flight[HOSTS];        // data, by distance of the hosts
};

static void on_event(void *context, uint32_t i, uint32_t has_arrived)
{
	struct net *net = context;
	const struct sim_message message = net->messages[i];

	if (!has_arrived) {
		sim_at(net->engine, sim_now(net->engine) + DELAY, net->handler, i, true);
		sim_traffic_sent(net->traffic, &message);
		return;
	}
	if (net->on_arrival)
		net->on_arrival(net, &message);
	sim_traffic_delivered(net->traffic, &message);
}

static void on_send(void *context, const struct sim_message *message)
{
	struct net *net = context;
	const uint64_t now = sim_now(net->engine);
	uint64_t *busy_until = &net->busy_until[message->from];

	assert_true(message->from < HOSTS && message->to < HOSTS);
	assert_int_not_equal(message->from, message->to);
	assert_true(message->bytes > 0);
	assert_true(net->n < MAX_MESSAGES);
	if (net->on_send)
		net->on_send(net, message);
	if (message->kind == DATA) {
		net->sent[message->from][message->to] += message->bytes;
		net->n_sent[message->from][message->to]++;
	}
	if (*busy_until < now)
		*busy_until = now;
	*busy_until += (uint64_t)(message->bytes / BYTES_PER_S * (double)SIM_SECOND);
	net->messages[net->n] = *message;
	sim_at(net->engine, *busy_until, net->handler, net->n++, false);
}

static struct net *begin(const struct sim_traffic_settings *settings)
{
	struct net *net = calloc(1, sizeof(*net));

	assert_non_null(net);
	net->engine = sim_engine_create(1u << 20);
	net->messages = calloc(MAX_MESSAGES, sizeof(net->messages[0]));
	assert_non_null(net->engine);
	assert_non_null(net->messages);
	net->handler = sim_engine_handler(net->engine, on_event, net);
	net->traffic =
	    sim_traffic_create(&(struct sim_traffic_parameters){ .settings = *settings,
								 .n_hosts = HOSTS,
								 .bytes_per_second = BYTES_PER_S,
								 .seed = 7,
								 .engine = net->engine,
								 .send = on_send,
								 .network = net });
	assert_non_null(net->traffic);
	return net;
}

static void end(struct net *net)
{
	sim_traffic_destroy(net->traffic);
	sim_engine_destroy(net->engine);
	free(net->messages);
	free(net);
}

static uint64_t sent_by(const struct net *net, unsigned from)
{
	uint64_t sum = 0;

	for (unsigned to = 0; to < HOSTS; to++)
		sum += net->sent[from][to];
	return sum;
}

static void assert_within(double value, double expected, double share)
{
	if (value < expected * (1 - share) || value > expected * (1 + share))
		fail_msg("%g, expected %g within %g", value, expected, share);
}

static void a2a__has_the_rate_of_its_closed_form(void **state)
{
	static const uint64_t windows_us[][2] = { { 100, 0 }, { 100, 10 }, { 50, 50 }, { 37, 11 } };

	(void)state;
	for (size_t i = 0; i < sizeof(windows_us) / sizeof(windows_us[0]); i++) {
		const uint64_t send = windows_us[i][0], idle = windows_us[i][1];
		struct net *net = begin(&(struct sim_traffic_settings){
		    .kind = SIM_TRAFFIC_A2A,
		    .message = 10000,
		    .send_window_ns = 1000 * send,
		    .idle_window_ns = 1000 * idle,
		});
		// A whole number of phases, so that the last one is not cut.
		const uint64_t time = 100 * (send + idle) * 1000 * SIM_NANOSECOND - 1;

		assert_true(sim_run(net->engine, time));
		for (unsigned host = 0; host < HOSTS; host++)
			assert_within((double)sent_by(net, host) /
					  ((double)time / (double)SIM_SECOND),
				      BYTES_PER_S * (double)send / (double)(send + idle), 0.01);
		end(net);
	}
}

static void a2a__each_phase_is_a_permutation_and_all_pairs_get_the_same(void **state)
{
	struct net *net = begin(&(struct sim_traffic_settings){
	    .kind = SIM_TRAFFIC_A2A, .message = 10000, .send_window_ns = 100000 });

	(void)state;
	assert_true(sim_run(net->engine, 50000 * SIM_NANOSECOND));
	for (unsigned host = 0; host < HOSTS; host++)
		assert_int_equal(net->sent[host][(host + 1) % HOSTS], sent_by(net, host));
	assert_true(sim_run(net->engine, (HOSTS - 1) * 100000 * SIM_NANOSECOND - 1));
	for (unsigned from = 0; from < HOSTS; from++)
		for (unsigned to = 0; to < HOSTS; to++)
			assert_int_equal(net->sent[from][to], from == to ? 0 : 100000);
	end(net);
}

static void permutation__is_one_to_one_at_its_load(void **state)
{
	struct net *net = begin(&(struct sim_traffic_settings){
	    .kind = SIM_TRAFFIC_PERMUTATION, .message = 1000, .load = 0.25 });
	unsigned n_senders[HOSTS] = { 0 };

	(void)state;
	assert_true(sim_run(net->engine, 10 * MILLISECONDS));
	for (unsigned from = 0; from < HOSTS; from++) {
		unsigned n = 0;
		for (unsigned to = 0; to < HOSTS; to++) {
			n += net->sent[from][to] > 0;
			n_senders[to] += net->sent[from][to] > 0;
		}
		assert_int_equal(n, 1);
		assert_within((double)sent_by(net, from), 0.25 * BYTES_PER_S * 0.01, 0.001);
	}
	for (unsigned to = 0; to < HOSTS; to++)
		assert_int_equal(n_senders[to], 1);
	end(net);
}

// The counts of a Poisson process have a standard deviation of their root: 5 of them are allowed.
static void uniform__sends_the_same_to_all_at_its_load(void **state)
{
	struct net *net = begin(&(struct sim_traffic_settings){
	    .kind = SIM_TRAFFIC_UNIFORM, .message = 500, .load = 0.5 });
	const double expected = 0.5 * BYTES_PER_S * 0.03 / 500 / (HOSTS - 1);

	(void)state;
	assert_true(sim_run(net->engine, 30 * MILLISECONDS));
	for (unsigned from = 0; from < HOSTS; from++)
		for (unsigned to = 0; to < HOSTS; to++)
			if (from != to)
				assert_within((double)net->n_sent[from][to], expected,
					      5 / 65.0); // root of 4286
	end(net);
}

static void incast__sends_rounds_at_the_load_of_the_receiver(void **state)
{
	struct net *net = begin(&(struct sim_traffic_settings){
	    .kind = SIM_TRAFFIC_INCAST, .message = 10000, .senders = 5, .load = 0.5 });
	const struct sim_traffic_account *account = sim_traffic_account(net->traffic);

	(void)state;
	assert_true(sim_run(net->engine, 10 * MILLISECONDS - 1));
	for (unsigned from = 0; from < HOSTS; from++)
		assert_int_equal(net->n_sent[from][0], from >= 1 && from <= 5 ? 100 : 0);
	assert_int_equal(account->begun, 100);
	assert_int_equal(account->complete, 100);
	// All send at the same time: 10 us on their own links, and the delay.
	assert_int_equal(account->latency.maximum, 12000);
	end(net);
}

// --- daqpipe ---

static void note_sent(struct net *net, const struct sim_message *message)
{
	if (message->kind == DATA) {
		net->in_flight[(message->to + HOSTS - message->from) % HOSTS]++;
		net->to_slot[message->to][message->slot]++;
		if (net->most_to_slot)
			assert_true(net->to_slot[message->to][message->slot] <= net->most_to_slot);
		return;
	}
	// A request is for one fragment, and goes to a readout unit; what else a builder that is
	// not the manager's host sends is credits, which have host 0 as destination.
	assert_int_equal(message->bytes, 64);
}

static void note_arrival(struct net *net, const struct sim_message *message)
{
	const unsigned to = message->to;

	if (message->kind != DATA)
		return;
	assert_true(message->slot < CREDITS);
	net->in_flight[(to + HOSTS - message->from) % HOSTS]--;
	net->to_slot[to][message->slot]--;
	assert_false(net->has_fragment[to][message->slot][message->from]);
	net->has_fragment[to][message->slot][message->from] = true;
	if (++net->n_fragments[to][message->slot] < HOSTS - 1)
		return;
	memset(net->has_fragment[to][message->slot], 0, HOSTS * sizeof(bool));
	net->n_fragments[to][message->slot] = 0;
	net->n_events++;
}

static void note_step(struct net *net, const struct sim_message *message)
{
	note_sent(net, message);
	if (message->kind != DATA)
		return;
	for (unsigned distance = 0; distance < HOSTS; distance++)
		if (distance != (message->to + HOSTS - message->from) % HOSTS)
			assert_int_equal(net->in_flight[distance], 0);
}

static struct net *begin_daqpipe(enum sim_mode mode, enum sim_shift shift, uint32_t parallel_sends)
{
	struct net *net = begin(&(struct sim_traffic_settings){ .kind = SIM_TRAFFIC_DAQPIPE,
								.message = 10000,
								.credits = CREDITS,
								.parallel_sends = parallel_sends,
								.mode = mode,
								.shift = shift });

	net->on_send = shift == SIM_SHIFT_BARRIER ? note_step : note_sent;
	net->on_arrival = note_arrival;
	return net;
}

static void daqpipe__builds_each_event_of_one_fragment_per_host(void **state)
{
	(void)state;
	for (enum sim_mode mode = SIM_PULL; mode <= SIM_PUSH; mode++) {
		for (enum sim_shift shift = SIM_SHIFT_LINEAR; shift <= SIM_SHIFT_RANDOM; shift++) {
			struct net *net = begin_daqpipe(mode, shift, 2);
			const struct sim_traffic_account *account =
			    sim_traffic_account(net->traffic);

			assert_true(sim_run(net->engine, 20 * MILLISECONDS));
			assert_true(account->complete > 500);
			// The fragment of its own host may come after the others.
			assert_in_range(net->n_events, account->complete,
					account->complete + HOSTS * CREDITS);
			// Credits are on their way to the manager, or in an event.
			assert_in_range(account->begun - account->complete, 1, HOSTS * CREDITS);
			end(net);
		}
	}
}

static void daqpipe__fills_the_links_with_enough_credits(void **state)
{
	(void)state;
	for (enum sim_mode mode = SIM_PULL; mode <= SIM_PUSH; mode++) {
		struct net *net = begin_daqpipe(mode, SIM_SHIFT_LINEAR, 2);

		assert_true(sim_run(net->engine, 20 * MILLISECONDS));
		for (unsigned host = 0; host < HOSTS; host++)
			assert_true((double)sent_by(net, host) >= 0.88 * BYTES_PER_S * 0.02);
		end(net);
	}
}

// With one credit and one fragment at a time a builder waits for each: two delays, and the times of
// the request and the fragment. Readout units that two builders ask at a time make that longer.
static void daqpipe__waits_for_each_fragment_with_one_in_flight(void **state)
{
	struct net *net = begin(&(struct sim_traffic_settings){
	    .kind = SIM_TRAFFIC_DAQPIPE, .message = 10000, .credits = 1, .parallel_sends = 1 });
	const double per_fragment = 2 * 2e-6 + 64 / BYTES_PER_S + 10000 / BYTES_PER_S;

	(void)state;
	net->on_send = note_sent;
	net->on_arrival = note_arrival;
	net->most_to_slot = 1;
	assert_true(sim_run(net->engine, 20 * MILLISECONDS));
	for (unsigned host = 1; host < HOSTS; host++)
		assert_true((double)sent_by(net, host) <= 1.01 * 10000 * 0.02 / per_fragment);
	assert_true((double)sent_by(net, 1) >= 0.7 * 10000 * 0.02 / per_fragment);
	end(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a2a__has_the_rate_of_its_closed_form),
		cmocka_unit_test(a2a__each_phase_is_a_permutation_and_all_pairs_get_the_same),
		cmocka_unit_test(permutation__is_one_to_one_at_its_load),
		cmocka_unit_test(uniform__sends_the_same_to_all_at_its_load),
		cmocka_unit_test(incast__sends_rounds_at_the_load_of_the_receiver),
		cmocka_unit_test(daqpipe__builds_each_event_of_one_fragment_per_host),
		cmocka_unit_test(daqpipe__fills_the_links_with_enough_credits),
		cmocka_unit_test(daqpipe__waits_for_each_fragment_with_one_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
