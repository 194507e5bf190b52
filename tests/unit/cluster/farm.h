// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A farm that exists only in the test: the nodes of a cluster, each with its control endpoint and
// the logic of lib/cluster, over a network that loses, duplicates, reorders and cuts datagrams; and
// what stands for builders and readouts. Everything that happens depends on the seed alone.
//
// What must hold in every history is checked as it happens (farm_truth.c). The first thing that
// does not is kept in farm.broken, and the history goes on to its end.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "cluster/manager.h"
#include "cluster/node.h"
#include "cluster/office.h"
#include "config/config.h"

#define FARM_NODES    9u
#define FARM_BUILDERS 8u // of all nodes
#define FARM_LOCAL    2u // builders, and readouts, of a node
#define FARM_SLOTS    16u
#define FARM_EVENTS   16384u
#define US            UINT64_C(1000)
#define MS            UINT64_C(1000000)
#define SECOND        UINT64_C(1000000000)

struct farm_options {
	uint64_t seed;
	unsigned n_folded;               // nodes that read and build; the first is the manager
	unsigned n_readouts, n_builders; // nodes, beside a manager that has no other duty
	unsigned local;                  // builders and generators of a node; 0: 1
	unsigned n_managers;             // nodes that can manage: the first and the last; 0: 1
	const char *mode;                // as in the configuration; NULL: "push"
	const char *on_source_silent;    // NULL: "continue"
	const char *on_incomplete;       // NULL: "flag"
	uint64_t events;                 // of each source, 0: no end
	uint32_t source_buffer;          // 0: 64
	double rate;                     // events a second, 0: 500
	double loss, duplicate;
	uint64_t delay_max;   // 0: 1 ms
	double refusal;       // of an expected event by its builder
	uint64_t deadline;    // of an event, 0: 3 s
	const char *in_doubt; // as in the configuration; NULL: "5s"
	double lazy;          // chance that a mailbox is not looked into in a step, 0: 0.3
	double slow;          // factor on the time that the last builder takes, 0: 1
	uint16_t window;      // frames of an endpoint, 0: 16
	uint32_t queue_size;  // of an endpoint, 0: 256 KiB
	bool by_hand;         // the run does not start by itself
	bool resumes;         // readouts have what their processes before announced
	unsigned runs;        // that the processes serve; 0: one, which they end with
	double straggle;      // chance that data is under way for long, up to 65 ms
	bool asks;            // builders are not permitted to publish by themselves
	unsigned phase_barrier;
	bool multicast; // shared frames; each receiver lacks one in ten
	double wills;   // chance that the last will of a process is sent
};

// --- what is in a process ---

enum sim_state {
	SIM_NONE,
	SIM_OPEN,  // waits for data
	SIM_READY, // complete, or given up at the deadline; told at `at`
	SIM_HELD,  // told
	SIM_PUBLISHED,
};

struct sim_slot {
	enum sim_state state;
	uint64_t event;
	uint16_t attempt;
	bool granted;
	bool incomplete;
	bool repeated;
	uint64_t arrived; // readouts, by rank and number in their node
	uint64_t at;      // what comes next
};

struct sim_messages {
	struct message messages[4 * FARM_SLOTS + 64];
	unsigned n;
};

struct sim_data {
	uint64_t event;
	uint64_t since;
	unsigned source;
};

struct sim_builder {
	struct sim_slot slots[FARM_SLOTS];
	unsigned n_slots, n_ungranted;
	bool awaits;    // the manager waits for a source
	bool told_open; // static mode
	struct sim_messages in, out;
	uint64_t from[FARM_NODES];    // by node: the first event in which its sources take part
	struct sim_data waiting[256]; // data for which there is no slot yet
	unsigned n_waiting;
};

struct sim_readout {
	unsigned source;
	enum ctrl_run_state state;
	uint32_t run;
	uint64_t first, announced, released, end;
	bool ended, throttled;
	uint64_t since; // start of its run
	struct sim_messages in, out;
	struct message sends[512];
	unsigned n_sends;
	uint64_t next_send;
	uint64_t taken_at; // when it has taken what it resumes with
	uint16_t session;  // of the last grant with a phase; 0: none
	bool has_limit;    // told by MESSAGE_PHASE
	uint32_t limit;
	uint64_t static_next; // static mode: first event that has not been sent
};

struct farm_will {
	size_t size; // 0: none is stored
	uint8_t bytes[CONTROL_WILL_MOST];
};

struct farm_node {
	struct farm *farm;
	unsigned number;
	bool alive;
	unsigned life;
	struct control_endpoint *endpoint;
	struct farm_will wills[FARM_NODES]; // of the process, to each node
	struct cluster_node *node;
	struct cluster_manager *manager; // NULL: on another node
	struct office *office;           // where it is elected
	struct cluster_transport wire;   // of the manager, behind what the test sees of it
	struct sim_builder builders[FARM_LOCAL];
	struct sim_readout readouts[FARM_LOCAL];
	uint64_t kept[FARM_LOCAL]; // end of the events that all processes' readouts have read
	enum ctrl_run_state state;
	bool connected_self;
	bool leaving;
	uint64_t next_beat;
	uint64_t asleep_until;
	// Where processes serve several runs:
	uint32_t prepared_run;
	uint64_t session;     // of its next endpoint; 0: of another process
	uint64_t leaves_at;   // end of the process's part in a run that is over; 0: it goes on
	uint64_t prepared_at; // end of what comes between two runs; 0: a run
};

// --- what is true of events ---

struct truth {
	uint16_t published; // times
	uint16_t unflagged; // of them, not said to be possibly repeated
	bool beyond;        // what any manager since could suspect
	bool unseen;        // a manager has begun without the node that had published it
	bool discarded;
	uint8_t publisher;  // builder
	unsigned life;      // of its node
	unsigned heard;     // epoch of the manager that has heard of it
	uint8_t granted_to; // by the manager's last grant
	uint16_t attempt;
	unsigned granted;      // epoch of the manager that did
	uint8_t ordered;       // builders that were ordered, or permitted, to publish it
	uint8_t told;          // of these, those that were ordered to
	unsigned permitted_in; // of the last permission: reports of the builder before it
	bool incomplete;
	uint32_t arrived; // readouts whose data its last builder has got
	uint8_t arrived_at;
};

struct farm_datagram {
	uint64_t arrival;
	uint64_t number;
	unsigned from, to;
	bool data; // of an event; else a frame
	uint64_t event;
	unsigned builder, source;
	uint32_t run; // of the sender of data
	size_t size;
	uint8_t bytes[];
};

struct farm {
	struct farm_options options;
	struct random random;
	uint64_t now;
	unsigned n_nodes;
	unsigned manager;              // node, or the last one, where it is elected
	unsigned n_sources;            // readouts of all nodes
	struct config *const *configs; // by node
	struct farm_node nodes[FARM_NODES];
	bool cut[FARM_NODES][FARM_NODES]; // from, to
	unsigned epoch;
	enum ctrl_run_state state; // of the manager
	struct farm_datagram **heap;
	size_t n_heap, heap_size;
	uint64_t n_datagrams;

	struct truth truth[FARM_EVENTS];
	uint32_t granted_generation[FARM_BUILDERS][FARM_SLOTS]; // last
	unsigned granted_in[FARM_BUILDERS][FARM_SLOTS]; // registration of the builder's node
	unsigned registrations[FARM_NODES];
	// Of all that a builder holds, to any manager: the first one after each registration.
	unsigned reports[FARM_BUILDERS];
	bool reporting[FARM_BUILDERS];
	uint64_t released; // highest that was said
	unsigned n_runs;
	uint64_t twice;      // events that were published twice, as may be
	uint64_t n_repeated; // flagged
	uint64_t n_unasked;  // published by permission
	unsigned began;      // epoch of the manager that has last begun
	uint64_t known;      // what the nodes with which it began knew as released
	bool builder_ended;  // a process that builds
	bool may_doubt;      // whether events were published
	bool doubts_end;     // also of processes that are there and may have published them
	uint64_t n_published, n_incomplete, n_unknown_sends;
	uint64_t n_again; // data that its builder has, or has built and published
	uint64_t n_lost, n_excluded, n_forgotten, n_take_overs;
	uint64_t n_outside;                                      // data that came between two runs
	uint64_t n_shared, n_shared_received, n_shared_repeated; // frames
	char broken[160];
};

// --- the farm ---

void farm_open(struct farm *farm, const struct farm_options *options);
void farm_close(struct farm *farm);
void farm_run(struct farm *farm, uint64_t duration);

// Ends a process as SIGKILL does, and starts another.
void farm_kill(struct farm *farm, unsigned node);
void farm_start(struct farm *farm, unsigned node);
void farm_restart(struct farm *farm, unsigned node);

// A process does not get the CPU for a while; what it is sent waits for it.
void farm_sleep(struct farm *farm, unsigned node, uint64_t duration);

// Cuts a node off the others, or just what it sends, or what it is sent.
void farm_cut(struct farm *farm, unsigned node, bool out, bool in);
void farm_heal(struct farm *farm);

// False if there is no manager, or it refuses.
bool farm_command(struct farm *farm, enum cluster_command command, unsigned node);

// Runs until the manager's state is this; false if that does not happen within the time.
bool farm_await(struct farm *farm, enum ctrl_run_state state, uint64_t limit);

// Drains and stops the run, and checks what must hold at its end.
void farm_finish(struct farm *farm);

// Fails the test if something was broken.
void farm_expect_whole(const struct farm *farm);

// The manager in office; NULL: there is none.
struct cluster_manager *farm_manager(const struct farm *farm);
bool farm_elects(const struct farm *farm);
// Runs until a node is in office, another one than `not`; returns the time, at most `limit`.
uint64_t farm_await_office(struct farm *farm, unsigned not, uint64_t limit);

struct cluster_manager_view farm_view(const struct farm *farm);
bool farm_is_static(const struct farm *farm);
bool farm_chance(struct farm *farm, double probability);
uint64_t farm_below(struct farm *farm, uint64_t n);
void farm_broken(struct farm *farm, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Node, and number in it, of a builder of the system.
const struct cluster_system_builder *farm_builder(const struct farm *farm, unsigned builder);

// --- farm_office.c ---

// Before anything happens in a process: it comes into office or leaves it.
void farm_begin(struct farm_node *node);
// Another manager has a higher epoch.
void farm_fenced(struct farm_node *node);
// Sends heartbeats where they are due.
void farm_beat(struct farm_node *node);

// --- farm_network.c ---

bool network_emit(void *context, unsigned peer, const uint8_t *bytes, size_t size);
bool network_emit_shared(void *context, const uint8_t *bytes, size_t size);
bool network_store_will(void *context, unsigned peer, const uint8_t *bytes, size_t size);
// Of a process that ends.
void network_send_wills(const struct farm_node *node);
void network_data(struct farm *farm, unsigned from, unsigned builder, unsigned source,
		  uint64_t event);
void network_bring(struct farm *farm);
uint64_t network_next(const struct farm *farm);
void network_close(struct farm *farm);

// --- farm_builder.c, farm_readout.c ---

void sim_builder_open(struct farm_node *node, unsigned builder);
bool sim_builder_message(struct farm_node *node, unsigned builder, const struct message *message);
void sim_builder_data(struct farm_node *node, unsigned builder, unsigned source, uint64_t event);
void sim_builder_poll(struct farm_node *node, unsigned builder);

void sim_readout_open(struct farm_node *node, unsigned readout);
bool sim_readout_message(struct farm_node *node, unsigned readout, const struct message *message);
void sim_readout_poll(struct farm_node *node, unsigned readout);

// Whether a mailbox is looked into now.
bool sim_looks(struct farm *farm);
bool sim_messages_put(struct sim_messages *messages, unsigned room, const struct message *message);
struct message sim_messages_take(struct sim_messages *messages);

// --- farm_truth.c ---

void truth_granted(struct farm *farm, const struct ctrl_grant *grant);
void truth_ordered(struct farm *farm, unsigned node, unsigned index, uint64_t event, bool told);
void truth_published(struct farm_node *node, unsigned builder, const struct sim_slot *slot);
void truth_published_statically(struct farm_node *node, unsigned builder,
				const struct sim_slot *slot);
// A record for the manager; whether it has counted an event as published by it.
void truth_heard(struct farm *farm, unsigned from, const struct ctrl_record *record,
		 uint64_t counted);
// The manager starts a run. Where nobody is left who knew of the one before, that is another.
void truth_started(struct farm *farm);
void truth_released(struct farm *farm, uint64_t event);
void truth_state(struct farm_node *node);
// A readout's node is granted an event, or asked for it.
void truth_asked(struct farm_node *node, const struct ctrl_record *record);
void truth_end(struct farm *farm);
