// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A network that exists only in the test: stations with one control endpoint each, and datagrams
// on their way between them, which may be lost, doubled and overtake each other. Time is the
// network's own.
//
// Each record that a station sends with network_send() says to which stream it belongs and which of
// the stream's it is. A stream is what must arrive once and in order: it ends when either side
// begins a new session. The stations check that.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "control/endpoint.h"

#define NETWORK_STATIONS 5u
#define NETWORK_RECORD   40000                         // type of the records of network_send()
#define NETWORK_HEAD     24u                           // bytes of such a record, at least
#define NETWORK_SHARED   40001                         // type of the records of network_send_all()
#define NETWORK_ALL_HEAD (8u + 16u * NETWORK_STATIONS) // bytes of such a record, at least
#define US               UINT64_C(1000)
#define MS               UINT64_C(1000000)
#define SECOND           UINT64_C(1000000000)

struct network_options {
	unsigned n_stations;
	uint64_t seed;
	double loss;      // of a datagram
	double duplicate; // of a datagram
	double refusal;   // of a frame by the sender's port
	bool shares;      // there is multicast; each receiver may lack a frame
	double wills;     // that the last will of a station that ends is sent
	uint64_t delay_min, delay_max;
	struct control_parameters parameters; // of all; zero: control_defaults()
};

struct datagram {
	struct datagram *later;
	uint64_t arrival;
	unsigned from, to;
	size_t size;
	uint8_t bytes[];
};

// What a station knows of another.
struct link {
	uint64_t sending;   // stream that records are sent in
	uint64_t n_sent;    // in it
	uint64_t receiving; // stream that the last record came in, 0: none in this life
	uint64_t n_received;
	uint64_t n_heartbeats;
	uint32_t last_heartbeat;
	uint64_t events[CONTROL_PROCESS_ENDED + 1];
	size_t will_size; // of the last will for that station; 0: none
	uint8_t will[CONTROL_WILL_MOST];
};

struct station {
	struct network *network;
	unsigned number; // its node number is 10 times that
	struct control_endpoint *endpoint;
	struct control_parameters parameters;
	uint16_t peers[NETWORK_STATIONS - 1];
	struct link links[NETWORK_STATIONS];
	bool dead;
	uint64_t delivered; // records
	void (*on_deliver)(struct station *station, unsigned from, const struct ctrl_record *);
	void (*on_event)(struct station *station, unsigned from, enum control_event event);
};

struct network {
	struct network_options options;
	struct random random;
	uint64_t now;
	uint64_t n_streams;
	struct datagram *first;
	struct station stations[NETWORK_STATIONS];
	bool cut[NETWORK_STATIONS][NETWORK_STATIONS]; // from, to: everything is lost
	uint64_t n_datagrams, n_lost, n_doubled, n_shared;
	// Called for each frame before all else; false drops it.
	bool (*filter)(struct network *network, const struct datagram *datagram);
};

void network_open(struct network *network, const struct network_options *options);
void network_close(struct network *network);

// Ends a station, whose last will may be sent; network_restart() gives it a new life, with a new
// session.
void network_kill(struct network *network, unsigned number);
void network_restart(struct network *network, unsigned number);

// As control_forget(), with what the stations keep of streams.
void network_forget(struct network *network, unsigned from, unsigned to);

// Queues a record of `size` bytes, a multiple of 8 from NETWORK_HEAD on; false if it is refused.
bool network_send(struct network *network, unsigned from, unsigned to, size_t size);

// As network_send(), to the stations of a set, bit i: station i. False: the queue of one of them is
// full, and nothing is sent.
bool network_send_all(struct network *network, unsigned from, unsigned to, size_t size);

// Puts a datagram on its way.
void network_transmit(struct network *network, unsigned from, unsigned to, const uint8_t *bytes,
		      size_t size, uint64_t delay);

// Lets time pass: polls endpoints when they are due, brings datagrams.
void network_run(struct network *network, uint64_t duration);

// Lets time pass until nothing is queued any more; false if that does not happen in time.
bool network_drain(struct network *network, uint64_t limit);

// Expects that everything that was sent in the present streams has been delivered.
void network_expect_all_delivered(const struct network *network);

// Expects that the counters of all endpoints add up.
void network_expect_sums(const struct network *network);

const struct control_counters *network_counters(const struct network *network, unsigned from,
						unsigned to);
struct control_state network_state(const struct network *network, unsigned from, unsigned to);

static inline uint16_t network_node(unsigned number)
{
	return (uint16_t)(10 * number);
}
