// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the control of events costs one event manager: the real logic of the manager, of its node
// and their control endpoint in one process, and a second process that plays the nodes of the
// system (played_nodes.h). Frames pass through shared memory, so that no driver is part of the
// figures. With two nodes both read out and build; with more, a third of them builds.
//
//   manager_cost [--cpus MANAGER,NODES] [--seconds S] [--nodes N,...] [--builders B]
//                [--rate EVENTS] [--multicast] [--alternate]
//
// --builders: nodes that build and do not read out; the others read out.
// --rate: events per second that the sources have, 0: as many as are released.
// CPU times are those of turns in which something was done. --alternate: both sides take turns on
// one CPU, in one process; the CPU times are then also right on a machine that is not idle.
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/manager.h"
#include "cluster/node.h"
#include "config/config.h"
#include "perf_tool.h"
#include "played_nodes.h"

#define MTU         9000u
#define IN_FRAME    42u // Ethernet, IPv4 and UDP around a control frame
#define BUFFER      4096u
#define POLL_NS     20000u
#define FRAMES_MOST 4096u
#define BEAT_NS     100000000u
#define SILENT_NS   5000000000u
#define PATIENCE_NS 20000000000u // for the nodes to register, and for the end of the run
#define TEXT        (256u << 10)

struct shared {
	struct frame_ring to_manager, to_nodes;
	_Alignas(64) _Atomic uint64_t nodes_busy_ns; // CPU time of the load process
	_Atomic uint64_t granted, published;
	_Atomic bool over, stop;
};

struct figures {
	uint64_t time, busy_ns, nodes_busy_ns, turns, published, records, frames, bytes;
	uint64_t sent_bytes, sent_frames; // of the manager
};

struct arguments {
	struct perf_list cpus, nodes;
	double seconds;
	double rate;
	unsigned builders; // 0: see above
	bool multicast, alternate;
};

struct office {
	struct shared *shared;
	const struct cluster_system *system;
	struct control_endpoint *endpoint;
	struct cluster_manager *manager;
	struct cluster_node *node; // the manager's own: it neither reads out nor builds
	const struct arguments *use;
	uint64_t now, next_poll, cpu_ns, busy_ns, turns, bytes, sent_bytes, sent_frames;
	unsigned n_sent;
};

static uint64_t cpu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// --- the system ---

static char *put_node(char *to, unsigned index, bool reads, bool builds, unsigned slots)
{
	to += sprintf(to,
		      ", {\"name\": \"n%u\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", "
		      "\"address\": \"10.0.%u.%u/16\"}]",
		      index, index / 250, index % 250 + 1);
	if (reads)
		to += sprintf(to,
			      ", \"generators\": [{\"name\": \"g\", \"port\": \"w\", \"ids\": "
			      "[%u]}]",
			      index);
	if (builds)
		to += sprintf(to,
			      ", \"builders\": [{\"name\": \"b\", \"slots\": %u, \"group\": "
			      "\"auto\"}]",
			      slots);
	return to + sprintf(to, "}");
}

static unsigned builders_of(unsigned nodes, const struct arguments *use)
{
	if (use->builders > 0)
		return use->builders;
	return nodes <= 2 ? nodes : nodes / 3;
}

static unsigned readouts_of(unsigned nodes, const struct arguments *use)
{
	return nodes <= 2 && use->builders == 0 ? nodes : nodes - builders_of(nodes, use);
}

static struct config *make_config(unsigned nodes, const struct arguments *use)
{
	const unsigned n_builders = builders_of(nodes, use);
	const unsigned n_readouts = readouts_of(nodes, use);
	const unsigned slots = 2 * BUFFER / n_builders > 64 ? 2 * BUFFER / n_builders : 64;
	char *text = malloc(TEXT), *to = text, error[CONFIG_ERROR_SIZE];
	struct config *config;

	if (text == NULL)
		perf_fail("out of memory");
	to += sprintf(to,
		      "{\"name\": \"manager-cost\", \"event_manager\": {\"source_buffer\": %u}, "
		      "\"sources\": {\"ids\": [\"1-%u\"]}, \"nodes\": [{\"name\": \"n0\", "
		      "\"manager\": true, \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", "
		      "\"address\": \"10.0.0.1/16\"}]}",
		      BUFFER, n_readouts);
	for (unsigned i = 1; i <= nodes; i++)
		to = put_node(to, i, i <= n_readouts, i > nodes - n_builders, slots);
	sprintf(to, "]}");
	if (config_parse(&config, text, strlen(text), "manager-cost", "n0", NULL, 0, error) != 0)
		perf_fail("%s", error);
	free(text);
	return config;
}

// --- the manager ---

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct office *office = context;

	cluster_manager_record(office->manager, peer, record, office->now);
	cluster_node_record(office->node, peer, record, office->now);
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	struct office *office = context;

	if (event == CONTROL_LOST)
		perf_fail("the manager has lost node %u", peer);
	cluster_manager_event(office->manager, peer, event, office->now);
	cluster_node_event(office->node, peer, event);
}

static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	struct office *office = context;

	if (!frame_ring_put(&office->shared->to_nodes, peer, bytes, (uint32_t)size))
		return false;
	office->bytes += size + IN_FRAME;
	office->sent_bytes += size + IN_FRAME;
	office->sent_frames++;
	office->n_sent++;
	return true;
}

static bool emit_shared(void *context, const uint8_t *bytes, size_t size)
{
	return emit(context, PLAYED_ALL, bytes, size);
}

static void make_endpoint(struct office *office)
{
	const unsigned n = office->system->n_nodes;
	struct control_parameters parameters = cluster_endpoint_parameters(n, MTU);
	uint16_t peers[CTRL_MAX_NODES];
	const char *reason;

	for (unsigned i = 1; i < n; i++)
		peers[i - 1] = (uint16_t)i;
	parameters.handlers = (struct control_handlers){
		office, deliver, on_event, emit, office->use->multicast ? emit_shared : NULL, NULL
	};
	parameters.peers = peers;
	parameters.leads = true;
	parameters.epoch = 1;
	parameters.session = UINT64_C(1) << 32;
	parameters.heartbeat_interval = BEAT_NS;
	parameters.heartbeat_timeout = SILENT_NS;
	parameters.now = office->now;
	office->endpoint = control_create(&parameters, &reason);
	if (office->endpoint == NULL)
		perf_fail("%s", reason);
}

static void open_office(struct office *office, const struct config *config, struct shared *shared,
			const struct arguments *use)
{
	struct cluster_manager_parameters manager = config_manager_parameters(config);
	struct cluster_node_parameters node = { .cluster = config_cluster_parameters(config) };

	*office = (struct office){ .shared = shared, .use = use, .system = &config->cluster };
	office->now = perf_now_ns();
	make_endpoint(office);
	node.transport = manager.transport = cluster_transport_of(office->endpoint);
	manager.autostart = true;
	manager.now = office->now;
	office->manager = cluster_manager_create(&manager);
	office->node = cluster_node_create(&node);
	if (office->manager == NULL || office->node == NULL)
		perf_fail("out of memory");
	cluster_node_event(office->node, office->system->self, CONTROL_CONNECTED);
}

static void close_office(struct office *office)
{
	cluster_manager_destroy(office->manager);
	cluster_node_destroy(office->node);
	control_destroy(office->endpoint);
}

// As a turn of the control role: all frames, then the logic, at least every POLL_NS.
static bool manager_turn(struct office *office)
{
	const struct frame_ring_entry *entry;
	const uint64_t before = office->cpu_ns;
	unsigned n = 0;

	office->now = perf_now_ns();
	office->n_sent = 0;
	while (n < FRAMES_MOST && (entry = frame_ring_front(&office->shared->to_manager)) != NULL) {
		if (control_receive(office->endpoint, entry->bytes, entry->size, office->now) !=
		    WIRE_OK)
			perf_fail("the manager refuses a frame");
		office->bytes += entry->size + IN_FRAME;
		frame_ring_pop(&office->shared->to_manager, entry);
		n++;
	}
	if (n > 0 || office->now >= office->next_poll) {
		office->next_poll = office->now + POLL_NS;
		cluster_node_poll(office->node, office->now);
		cluster_manager_poll(office->manager, office->now);
		(void)control_poll(office->endpoint, office->now);
	}
	office->cpu_ns = cpu_now_ns();
	if (n == 0 && office->n_sent == 0)
		return false;
	office->busy_ns += office->cpu_ns - before;
	office->turns++;
	return true;
}

static struct figures read_figures(const struct office *office)
{
	struct figures figures = {
		.time = perf_now_ns(),
		.busy_ns = office->busy_ns,
		.nodes_busy_ns = atomic_load(&office->shared->nodes_busy_ns),
		.turns = office->turns,
		.published = atomic_load(&office->shared->published),
		.bytes = office->bytes,
		.sent_bytes = office->sent_bytes,
		.sent_frames = office->sent_frames,
		.frames = control_totals(office->endpoint)->shared_frames,
	};

	for (unsigned i = 1; i < office->system->n_nodes; i++) {
		const struct control_counters *c = control_counters(office->endpoint, i);

		figures.records += c->records_sent + c->records_delivered;
		figures.frames += c->frames_sent + c->frames_received;
	}
	return figures;
}

// --- the nodes ---

struct load {
	struct played_nodes *nodes;
	struct shared *shared;
	uint64_t cpu_ns, busy_ns;
};

static bool load_turn(struct load *load)
{
	const uint64_t before = load->cpu_ns;
	const bool done = played_turn(load->nodes, perf_now_ns());
	const struct played_counts counts = played_counts(load->nodes);

	load->cpu_ns = cpu_now_ns();
	load->busy_ns += done ? load->cpu_ns - before : 0;
	atomic_store_explicit(&load->shared->nodes_busy_ns, load->busy_ns, memory_order_relaxed);
	atomic_store_explicit(&load->shared->granted, counts.granted, memory_order_relaxed);
	atomic_store_explicit(&load->shared->published, counts.published, memory_order_relaxed);
	atomic_store_explicit(&load->shared->over, counts.over, memory_order_relaxed);
	return done;
}

static void open_load(struct load *load, const struct config *config, struct shared *shared,
		      const struct arguments *use)
{
	const struct played_parameters parameters = {
		.cluster = config_cluster_parameters(config),
		.in = &shared->to_nodes,
		.out = &shared->to_manager,
		.mtu = MTU,
		.rate = use->rate,
		.multicast = use->multicast,
		.now = perf_now_ns(),
	};

	*load = (struct load){ .nodes = played_create(&parameters), .shared = shared };
}

// The load process.
static void play(const struct config *config, struct shared *shared, const struct arguments *use)
{
	struct load load;

	if (use->cpus.n > 1)
		perf_pin(use->cpus.values[1]);
	open_load(&load, config, shared, use);
	while (!atomic_load_explicit(&shared->stop, memory_order_relaxed))
		if (!load_turn(&load))
			sched_yield();
	played_destroy(load.nodes);
}

// --- the measurement ---

struct bench {
	struct office office;
	struct load load; // --alternate
	struct shared *shared;
	const struct arguments *use;
	pid_t child; // 0: --alternate
};

static void step(struct bench *bench)
{
	int status;

	if (bench->child == 0) {
		bench->office.cpu_ns = cpu_now_ns();
		(void)manager_turn(&bench->office);
		bench->load.cpu_ns = bench->office.cpu_ns;
		(void)load_turn(&bench->load);
	} else if (!manager_turn(&bench->office)) {
		if (bench->office.turns % 64 == 0 && waitpid(bench->child, &status, WNOHANG) > 0)
			exit(1); // it has said why
		sched_yield();
	}
}

static void run_until(struct bench *bench, uint64_t end)
{
	while (perf_now_ns() < end)
		step(bench);
}

// Until the first event is published, or the run is over.
static void run_while(struct bench *bench, bool begins)
{
	const uint64_t end = perf_now_ns() + PATIENCE_NS;
	const struct shared *shared = bench->shared;

	while (begins ? atomic_load(&shared->published) == 0 : !atomic_load(&shared->over)) {
		if (perf_now_ns() > end)
			perf_fail(begins ? "no event is published" : "the run does not end");
		step(bench);
	}
}

// Everything that was granted has been published when the run has drained.
static void drain(struct bench *bench)
{
	char error[CLUSTER_ERROR_SIZE];
	struct cluster_manager_view view;

	if (cluster_manager_command(bench->office.manager, CLUSTER_DRAIN, 0, perf_now_ns(),
				    error) != 0)
		perf_fail("%s", error);
	run_while(bench, false);
	cluster_manager_view(bench->office.manager, &view);
	if (atomic_load(&bench->shared->granted) != atomic_load(&bench->shared->published) ||
	    view.complete != atomic_load(&bench->shared->published))
		perf_fail("%llu events were granted, %llu published, %llu counted",
			  (unsigned long long)atomic_load(&bench->shared->granted),
			  (unsigned long long)atomic_load(&bench->shared->published),
			  (unsigned long long)view.complete);
}

static void start_nodes(struct bench *bench, const struct config *config)
{
	if (bench->use->alternate) {
		open_load(&bench->load, config, bench->shared, bench->use);
		return;
	}
	fflush(stdout);
	bench->child = fork();
	if (bench->child < 0)
		perf_fail("no second process can be started");
	if (bench->child > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	play(config, bench->shared, bench->use);
	exit(0);
}

static void stop_nodes(struct bench *bench)
{
	int status = 0;

	atomic_store(&bench->shared->stop, true);
	if (bench->child == 0)
		played_destroy(bench->load.nodes);
	else if (waitpid(bench->child, &status, 0) < 0 || status != 0)
		exit(1);
}

static cJSON *describe(unsigned nodes, const struct arguments *use, const struct figures *from,
		       const struct figures *to)
{
	const double events = (double)(to->published - from->published);
	const double ns = (double)(to->time - from->time);
	cJSON *one = cJSON_CreateObject();

	if (events <= 0)
		perf_fail("%u nodes: no events", nodes);
	cJSON_AddNumberToObject(one, "nodes", nodes);
	cJSON_AddNumberToObject(one, "readouts", readouts_of(nodes, use));
	cJSON_AddNumberToObject(one, "builders", builders_of(nodes, use));
	cJSON_AddNumberToObject(one, "events_per_second", events / ns * 1e9);
	cJSON_AddNumberToObject(one, "messages_per_second",
				(double)(to->records - from->records) / ns * 1e9);
	cJSON_AddNumberToObject(one, "messages_per_event",
				(double)(to->records - from->records) / events);
	cJSON_AddNumberToObject(one, "frames_per_event",
				(double)(to->frames - from->frames) / events);
	cJSON_AddNumberToObject(one, "bytes_per_event", (double)(to->bytes - from->bytes) / events);
	cJSON_AddNumberToObject(one, "sent_frames_per_event",
				(double)(to->sent_frames - from->sent_frames) / events);
	cJSON_AddNumberToObject(one, "sent_bytes_per_event",
				(double)(to->sent_bytes - from->sent_bytes) / events);
	cJSON_AddNumberToObject(one, "events_per_turn", events / (double)(to->turns - from->turns));
	cJSON_AddNumberToObject(one, "manager_ns", (double)(to->busy_ns - from->busy_ns) / events);
	cJSON_AddNumberToObject(one, "nodes_ns",
				(double)(to->nodes_busy_ns - from->nodes_busy_ns) / events);
	cJSON_AddNumberToObject(one, "manager_busy", (double)(to->busy_ns - from->busy_ns) / ns);
	cJSON_AddNumberToObject(one, "nodes_busy",
				(double)(to->nodes_busy_ns - from->nodes_busy_ns) / ns);
	return one;
}

static cJSON *measure(unsigned nodes, const struct arguments *use)
{
	struct bench bench = { .use = use };
	struct config *config = make_config(nodes, use);
	struct figures from, to;

	bench.shared = mmap(NULL, sizeof(*bench.shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bench.shared == MAP_FAILED)
		perf_fail("out of memory");
	start_nodes(&bench, config);
	open_office(&bench.office, config, bench.shared, use);
	run_while(&bench, true);
	run_until(&bench, perf_now_ns() + (uint64_t)(use->seconds * 1e9 / 4));
	from = read_figures(&bench.office);
	run_until(&bench, perf_now_ns() + (uint64_t)(use->seconds * 1e9));
	to = read_figures(&bench.office);
	drain(&bench);
	stop_nodes(&bench);
	close_office(&bench.office);
	munmap(bench.shared, sizeof(*bench.shared));
	config_free(config);
	return describe(nodes, use, &from, &to);
}

static struct arguments parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpus", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 's' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "rate", required_argument, NULL, 'r' },
		{ "builders", required_argument, NULL, 'b' },
		{ "multicast", no_argument, NULL, 'm' },
		{ "alternate", no_argument, NULL, 'a' },
		{ 0 },
	};
	struct arguments use = { .seconds = 0.3, .nodes = { .values = { 2 }, .n = 1 } };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			use.cpus = perf_parse_list("cpus", optarg);
		else if (option == 's')
			use.seconds = perf_parse_number("seconds", optarg, 1e-3);
		else if (option == 'n')
			use.nodes = perf_parse_list("nodes", optarg);
		else if (option == 'r')
			use.rate = perf_parse_number("rate", optarg, 0);
		else if (option == 'b')
			use.builders = (unsigned)perf_parse_number("builders", optarg, 1);
		else if (option == 'm')
			use.multicast = true;
		else if (option == 'a')
			use.alternate = true;
		else
			exit(1);
	}
	return use;
}

int main(int argc, char **argv)
{
	const struct arguments use = parse(argc, argv);
	cJSON *result = cJSON_CreateObject(), *cases = cJSON_AddArrayToObject(result, "cases");

	if (use.cpus.n > 0)
		perf_pin(use.cpus.values[0]);
	cJSON_AddBoolToObject(result, "alternate", use.alternate);
	for (unsigned i = 0; i < use.nodes.n; i++)
		cJSON_AddItemToArray(cases, measure(use.nodes.values[i], &use));
	perf_print(result);
	return 0;
}
