// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Results of a system of nodes, in random histories: the flow of decisions between processes that
// are killed, cut off and silent, and the results role with its files. In every second history the
// event manager is elected, and others take over. Each event that a builder has published stands in
// the files once, in order; it is flagged as not decided in time only if nobody decided, or the
// process that knew the decision has ended.
//
// test_record_results_nodes [SEED [HISTORIES]] begins at a seed.
#include "helpers.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/random.h"
#include "decision/decision_flow.h"
#include "record/results_role.h"
#include "wire/wire.h"

#define BUILDER_NODES 3u
#define NODES         (BUILDER_NODES + 2)
#define MANAGER       0u
#define RESULTS       (NODES - 1)
#define EVENTS        2000u
#define PACKING       10u
#define US            UINT64_C(1000)
#define MS            UINT64_C(1000000)
#define TIMEOUT       (20 * MS)
#define QUEUE         512u
#define UNIT          DECISION_STREAM_UNIT
#define NEVER         UINT64_MAX
#ifdef __SANITIZE_ADDRESS__
#define HISTORIES 4u
#else
#define HISTORIES 16u
#endif

struct letter {
	uint64_t at;
	uint16_t size;
	uint8_t bytes[1200];
};

// What one node sends to another one in a session.
struct path {
	struct letter letters[QUEUE];
	unsigned first, n;
};

struct truth {
	unsigned node;       // that has published it; 0: it was discarded
	uint64_t decided_at; // NEVER: not
	uint64_t known_at;   // the manager knows its fate
	bool passed_on;      // to the outbox
	bool may_time_out;   // the process that knew the decision has ended, or there is none
	bool reported;       // by the manager as not known
};

struct node {
	struct decision_flow *flow;
	struct decision_outbox *outbox;
	struct decision_inbox *inbox;
	struct role *role;
	unsigned number;
	unsigned follows; // node of the event manager, or CLUSTER_NONE
	uint32_t epoch;
	uint64_t follows_at; // it follows the present one from then on
};

static struct random random_state;
static uint64_t now_ns;
static struct cluster_system_node cluster_nodes[NODES];
static struct cluster_system_builder cluster_builders[BUILDER_NODES];
static struct cluster_system cluster;
static struct node nodes[NODES];
static struct path paths[NODES][NODES];
static uint64_t down_until[NODES][NODES]; // the session ends then; 0: it goes on
static uint64_t silent_until[NODES][NODES];
static bool forgotten[NODES][NODES]; // while down: what is sent waits for the next session
static struct truth truths[EVENTS];
static uint64_t released, manager_first, published;
static bool resumed, run_is_over;
static unsigned history, n_timed_out, n_kills, n_take_overs;
static unsigned leader; // node of the event manager
static uint32_t epoch;  // 0: it is not elected
static const char *directory;

static uint64_t below(uint64_t n)
{
	return random_next(&random_state) % n;
}

// The clock of the results role.
int clock_gettime(clockid_t id, struct timespec *time)
{
	(void)id;
	*time = (struct timespec){ (time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000) };
	return 0;
}

// --- what the flow asks the manager ---

bool cluster_manager_knows_events(const struct cluster_manager *manager)
{
	(void)manager;
	return true;
}

bool cluster_manager_resumed(const struct cluster_manager *manager)
{
	(void)manager;
	return resumed;
}

uint64_t cluster_manager_first(const struct cluster_manager *manager)
{
	(void)manager;
	return manager_first;
}

uint64_t cluster_manager_released(const struct cluster_manager *manager)
{
	(void)manager;
	return released;
}

uint16_t cluster_manager_publisher(const struct cluster_manager *manager, uint64_t event)
{
	(void)manager;
	assert_true(event < released);
	if (event < manager_first) {
		truths[event].reported = true;
		return CTRL_NOT_KNOWN;
	}
	return truths[event].node == 0 ? CTRL_UNPUBLISHED : (uint16_t)(truths[event].node - 1);
}

// --- the network ---

static void send_letter(void *context, unsigned to, const void *record, size_t size)
{
	const struct node *node = context;
	struct path *path = &paths[node->number][to];
	struct letter *letter = &path->letters[(path->first + path->n) % QUEUE];

	assert_true(size > 0 && size <= sizeof(letter->bytes) && path->n < QUEUE);
	letter->at = now_ns + 5 * US + below(200 * US);
	letter->size = (uint16_t)size;
	memcpy(letter->bytes, record, size);
	path->n++;
}

static size_t room(void *context, unsigned to, size_t largest)
{
	const struct node *node = context;
	const struct path *path = &paths[node->number][to];

	return path->n < 16 ? (16 - path->n) * largest : 0;
}

static bool can_talk(unsigned a, unsigned b)
{
	return down_until[a][b] == 0 && silent_until[a][b] == 0;
}

static void deliver(unsigned from, unsigned to)
{
	struct path *path = &paths[from][to];

	while (path->n > 0 && path->letters[path->first].at <= now_ns && can_talk(from, to)) {
		const struct letter *letter = &path->letters[path->first];
		struct ctrl_record record;

		assert_int_equal(ctrl_record_at(letter->bytes, letter->size, &record), WIRE_OK);
		path->first = (path->first + 1) % QUEUE;
		path->n--;
		assert_true(decision_flow_record(nodes[to].flow, from, &record));
	}
}

static void event_of(unsigned a, unsigned b, enum control_event event)
{
	decision_flow_event(nodes[a].flow, b, event);
	decision_flow_event(nodes[b].flow, a, event);
}

// A peer that is silent for long is forgotten with all that was to be sent to it.
static void cut(unsigned a, unsigned b, uint64_t duration)
{
	if (down_until[a][b] == 0) {
		event_of(a, b, CONTROL_LOST);
		forgotten[a][b] = forgotten[b][a] = below(2) == 0;
		paths[a][b].n = paths[b][a].n = 0;
	}
	down_until[a][b] = down_until[b][a] = now_ns + duration;
	silent_until[a][b] = silent_until[b][a] = 0;
}

static void silence(unsigned a, unsigned b, uint64_t duration)
{
	if (!can_talk(a, b))
		return;
	event_of(a, b, CONTROL_LOST);
	silent_until[a][b] = silent_until[b][a] = now_ns + duration;
}

static void heal(unsigned a, unsigned b)
{
	if (down_until[a][b] != 0 && down_until[a][b] <= now_ns) {
		down_until[a][b] = down_until[b][a] = 0;
		if (!forgotten[a][b])
			paths[a][b].n = paths[b][a].n = 0;
		event_of(a, b, forgotten[a][b] ? CONTROL_CONNECTED : CONTROL_RESTARTED);
	}
	if (silent_until[a][b] != 0 && silent_until[a][b] <= now_ns) {
		silent_until[a][b] = silent_until[b][a] = 0;
		event_of(a, b, CONTROL_BACK);
	}
}

// --- processes ---

static struct role *make_role(struct decision_inbox *inbox)
{
	char error[RESULTS_ERROR_SIZE], prefix[16];
	const struct results_parameters parameters = {
		.name = "results.r",
		.inbox = inbox,
		.granted = true,
		.order = { .window = cluster.results[0].window,
			   .packing = PACKING,
			   .timeout_ns = TIMEOUT,
			   .holds = true },
		.stream = { .directory = directory,
			    .prefix = prefix,
			    .run_number = RUN,
			    .packing = PACKING,
			    .resumes = true },
	};
	struct role *role;

	snprintf(prefix, sizeof(prefix), "h%u", history);
	role = results_role_create(&parameters, error);
	if (role == NULL)
		fail_msg("%s", error);
	return role;
}

static void start(unsigned number)
{
	struct node *node = &nodes[number];
	struct decision_flow_parameters parameters = {
		.system = &cluster,
		.transport = { .context = node, .send = send_letter, .room = room },
		.granted = true,
		.run = RUN,
	};

	*node = (struct node){ .number = number, .follows = CLUSTER_NONE };
	if (epoch != 0 && number != leader)
		node->follows_at = now_ns + below(MS);
	cluster.self = number;
	if (number == RESULTS) {
		node->inbox = decision_inbox_create(cluster.results[0].window, PACKING, NODES);
		node->role = make_role(node->inbox);
	} else if (number != MANAGER) { // which has no builder
		node->outbox = decision_outbox_create(cluster.results[0].window, PACKING);
	}
	parameters.outboxes[0] = node->outbox;
	parameters.inboxes[0] = node->inbox;
	node->flow = decision_flow_create(&parameters);
	assert_non_null(node->flow);
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void end(unsigned number)
{
	struct node *node = &nodes[number];

	decision_flow_destroy(node->flow);
	if (node->role != NULL)
		node->role->operations->fini(node->role);
	decision_outbox_destroy(node->outbox);
	decision_inbox_destroy(node->inbox);
}

// A manager that takes over knows what the nodes know as released, as one that restarts does. The
// others follow it later.
static void take_over(unsigned number)
{
	n_take_overs += number != leader;
	leader = number;
	epoch++;
	resumed = true;
	manager_first = released;
	for (unsigned i = 0; i < NODES; i++)
		nodes[i].follows_at = now_ns + (i == leader ? 0 : below(2 * MS));
}

static unsigned random_candidate(void)
{
	static const unsigned candidates[] = { MANAGER, 1, RESULTS };

	return candidates[below(3)];
}

static void follow(struct node *node)
{
	if (node->follows_at <= now_ns) {
		node->follows = leader;
		node->epoch = epoch;
		node->follows_at = NEVER;
	}
	decision_flow_follow(node->flow, node->follows, node->epoch,
			     node->number == leader && node->epoch == epoch ? (void *)node : NULL);
}

// Nothing that the process has not written is written any more.
static void kill_node(unsigned number)
{
	n_kills++;
	limit_files(1);
	end(number);
	limit_files(RLIM_INFINITY);
	for (uint64_t e = 0; number != RESULTS && e < published; e++)
		truths[e].may_time_out |= truths[e].node == number;
	if (number == leader) {
		resumed = true;
		manager_first = released;
	}
	start(number);
	if (number == leader && epoch != 0)
		take_over(random_candidate());
	for (unsigned other = 0; other < NODES; other++) {
		paths[number][other].n = 0;
		if (other != number)
			cut(number, other, 1 + below(3 * MS));
	}
}

// --- events and decisions ---

static void publish_event(void)
{
	struct truth *truth = &truths[published++];

	truth->node = below(40) == 0 ? 0 : 1 + (unsigned)below(BUILDER_NODES);
	truth->decided_at = now_ns + below(2 * MS);
	truth->known_at = now_ns + below(500 * US);
	if (below(300) == 0) {
		truth->decided_at = NEVER;
		truth->may_time_out = true;
	}
}

static struct decision_result result_of_event(uint64_t event)
{
	return (struct decision_result){
		.event_id = event * PACKING,
		.lines = event * event,
		.tag = (uint32_t)event,
		.builder = (uint16_t)(truths[event].node - 1),
		.flags = event % 3 == 0 ? DECISION_ACCEPTED : 0,
	};
}

// The decisions of a node are passed on in the order of events here; one that has to wait holds
// the others back.
static void pass_on(unsigned number)
{
	const uint64_t window = cluster.results[0].window;
	uint64_t e = published > 4 * window ? published - 4 * window : 0;

	for (; e < published; e++) {
		struct truth *truth = &truths[e];
		const struct decision_result result = result_of_event(e);

		if (truth->node != number || truth->passed_on || truth->decided_at > now_ns)
			continue;
		if (!decision_outbox_put(nodes[number].outbox, &result))
			return;
		truth->passed_on = true;
	}
}

// Whether the slots of the builder nodes have room for another event.
static bool has_slots(void)
{
	const uint64_t window = cluster.results[0].window;
	unsigned held = 0;

	for (uint64_t e = published > 4 * window ? published - 4 * window : 0; e < published; e++)
		held +=
		    truths[e].node != 0 && !truths[e].passed_on && truths[e].decided_at != NEVER;
	return held < window;
}

static void step(void)
{
	now_ns += 1 + below(40 * US);
	if (published < EVENTS && below(2) == 0 && has_slots())
		publish_event();
	while (released < published && truths[released].known_at <= now_ns)
		released++;
	for (unsigned a = 0; a < NODES; a++)
		for (unsigned b = 0; b < NODES; b++) {
			if (a < b)
				heal(a, b);
			if (a != b)
				deliver(a, b);
		}
	for (unsigned i = 0; i < NODES; i++) {
		if (nodes[i].outbox != NULL)
			pass_on(i);
		follow(&nodes[i]);
		decision_flow_poll(nodes[i].flow, run_is_over, now_ns);
	}
}

static void disturb(void)
{
	const unsigned a = (unsigned)below(NODES), b = (a + 1 + (unsigned)below(NODES - 1)) % NODES;

	switch (below(epoch != 0 ? 6 : 4)) {
	case 0:
		kill_node(a);
		break;
	case 4:
	case 5:
		take_over(random_candidate());
		break;
	case 1:
		cut(a, b, 1 + below(3 * MS));
		break;
	case 2:
		silence(a, b, 1 + below(3 * MS));
		break;
	default:
		kill_node(RESULTS);
		break;
	}
}

static bool all_is_passed_on(void)
{
	for (uint64_t e = 0; e < published; e++)
		if (truths[e].node != 0 && !truths[e].passed_on && truths[e].decided_at != NEVER)
			return false;
	return true;
}

// --- the end ---

static unsigned read_records(unsigned number, uint8_t *units, unsigned n)
{
	char name[64], path[PATH_SIZE];
	struct stat status;
	uint8_t *bytes;
	size_t size;

	snprintf(name, sizeof(name), "h%u-run%06u-%04u.decisions", history, RUN, number);
	path_in(path, directory, name);
	if (stat(path, &status) != 0)
		return UINT_MAX;
	bytes = read_file(path, &size);
	size = size / UNIT * UNIT;
	if (size > UNIT) {
		assert_true(n + size / UNIT - 1 <= EVENTS);
		assert_int_equal(load_le64(bytes + 24), n); // number of its first record
		memcpy(units + (size_t)n * UNIT, bytes + UNIT, size - UNIT);
		n += (unsigned)(size / UNIT) - 1;
	}
	free(bytes);
	return n;
}

static void check_record(const uint8_t *unit, uint64_t event)
{
	const struct truth *truth = &truths[event];
	const struct decision_result expected = result_of_event(event);

	if ((unit[27] & DECISION_TIMED_OUT) != 0) {
		n_timed_out++;
		assert_true(truth->may_time_out || (truth->node == 0 && truth->reported));
		return;
	}
	assert_true(truth->node != 0 && truth->decided_at != NEVER);
	assert_int_equal(load_le64(unit + 8), expected.lines);
	assert_int_equal(load_le32(unit + 16), expected.tag);
	assert_int_equal(load_le16(unit + 24), expected.builder);
	assert_int_equal(unit[27], expected.flags);
}

static void check_files(void)
{
	static uint8_t units[EVENTS * UNIT];
	unsigned n = 0, found;
	uint64_t event = 0;

	for (unsigned i = 0; (found = read_records(i, units, n)) != UINT_MAX; i++)
		n = found;
	for (unsigned i = 0; i < n; i++) {
		const uint64_t index = load_le64(units + (size_t)i * UNIT) / PACKING;

		assert_true(index < EVENTS && index >= event);
		for (; event < index; event++)
			assert_int_equal(truths[event].node, 0);
		check_record(units + (size_t)i * UNIT, event++);
	}
	for (; event < EVENTS; event++)
		assert_int_equal(truths[event].node, 0);
}

static bool is_done(void)
{
	bool done = true;

	for (unsigned i = 0; i < NODES; i++)
		done &= decision_flow_is_done(nodes[i].flow) &&
			(nodes[i].outbox == NULL || decision_outbox_waiting(nodes[i].outbox) == 0);
	return done;
}

static void play(uint64_t seed)
{
	bool drained = false;
	unsigned quiet = 0;

	random_state = (struct random){ seed };
	memset(truths, 0, sizeof(truths));
	memset(paths, 0, sizeof(paths));
	memset(silent_until, 0, sizeof(silent_until));
	memset(forgotten, 0, sizeof(forgotten));
	now_ns = MS;
	released = manager_first = published = 0;
	resumed = run_is_over = false;
	leader = MANAGER;
	epoch = history % 2;
	cluster.results[0].window = 64u << below(3);
	cluster.builders[0].slots = cluster.results[0].window; // of all builders together
	for (unsigned i = 0; i < NODES; i++)
		start(i);
	for (unsigned a = 0; a < NODES; a++)
		for (unsigned b = 0; b < NODES; b++)
			down_until[a][b] = now_ns + 1;
	while (published < EVENTS || released < EVENTS || !all_is_passed_on()) {
		step();
		nodes[RESULTS].role->operations->poll(nodes[RESULTS].role, 0);
		if (below(300) == 0)
			disturb();
		assert_true(now_ns < 3000 * MS);
	}
	run_is_over = true;
	for (unsigned i = 1; i <= BUILDER_NODES; i++)
		atomic_store(&nodes[i].outbox->ended, true);
	while (!drained || !is_done() || ++quiet < 10) {
		step();
		drained = drained || nodes[RESULTS].role->operations->drain(nodes[RESULTS].role, 0);
		assert_true(now_ns < 9000 * MS);
	}
	for (unsigned i = 0; i < NODES; i++) {
		struct decision_flow_view view;

		decision_flow_view(nodes[i].flow, 0, &view);
		assert_int_equal(view.refused, 0);
		end(i);
	}
	check_files();
}

static uint64_t first_seed;
static unsigned n_histories = HISTORIES;

static void results__of_nodes_have_each_event_once(void **state)
{
	directory = *state;
	signal(SIGXFSZ, SIG_IGN);
	for (history = 0; history < n_histories; history++)
		play(first_seed + history);
	print_message("%u histories, %u kills, %u take-overs, %u events not decided in time\n",
		      n_histories, n_kills, n_take_overs, n_timed_out);
	if (n_histories < HISTORIES)
		return;
	assert_true(n_kills > n_histories && n_take_overs > n_histories);
	assert_in_range(n_timed_out, 1, n_histories * EVENTS / 10);
}

int main(int n_arguments, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(results__of_nodes_have_each_event_once,
						make_directory, remove_directory),
	};

	if (n_arguments > 1) {
		first_seed = strtoull(arguments[1], NULL, 10);
		n_histories = n_arguments > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : 1;
	}
	cluster = (struct cluster_system){
		.n_nodes = NODES,
		.nodes = cluster_nodes,
		.builders = cluster_builders,
		.n_results = 1,
	};
	cluster.results[0].node = RESULTS;
	cluster.n_builders = BUILDER_NODES;
	for (unsigned i = 1; i <= BUILDER_NODES; i++)
		cluster.nodes[i] =
		    (struct cluster_system_node){ .first_builder = i - 1, .n_builders = 1 };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
