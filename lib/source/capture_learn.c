// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/capture_learn.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error_line.h"
#include "source/capture.h"
#include "source/capture_segment.h"
#include "source/open_events.h"
#include "source/sparse_array.h"
#include "wire/ejfat.h"
#include "wire/mep.h"
#include "wire/mfp.h"
#include "wire/net.h"

#define ETHERNET        CAPTURE_ETHERNET // its place among the ports
#define NO_PORT         CAPTURE_NO_PORT
#define BUSY_PORT_RATIO 100
#define BUSY_ID_RATIO   8

// Counters of a port or a source, whose first member they are.
struct tally {
	uint64_t packets;   // of a port: all
	uint64_t segments;  // plausible ones
	uint64_t heads;     // segments at offset 0
	uint64_t confirmed; // heads that hold a matching MFP header
};

// Lengths of the buffers of a source.
struct lengths {
	uint64_t last_event;
	uint32_t last;      // stated by the previous segment
	uint32_t confirmed; // the largest that is confirmed
};

struct port {
	struct tally tally;
	bool is_accepted;
};

struct source {
	struct tally tally;
	struct lengths lengths;
	uint32_t index; // into summary->source_ids + 1, 0: none
};

struct learning {
	struct capture_summary *summary;
	struct open_events *open;
	uint64_t heads, confirmed;
	struct sparse_array ports;    // struct port
	struct sparse_array sources;  // struct source, by source id
	struct sparse_array packings; // uint64_t, by number of fragments: confirmed heads
};

// Whether the segment begins a buffer that is an MFP; *n_fragments is then set.
static bool confirm(const struct capture_sight *sight, uint16_t *n_fragments)
{
	struct mfp_header header;

	if (sight->segment.re.offset ||
	    mfp_decode_header(sight->payload, sight->captured, &header) ||
	    header.source_id != sight->segment.re.data_id ||
	    header.packet_size != sight->segment.re.length)
		return false;
	*n_fragments = header.n_fragments;
	return true;
}

// A length is confirmed by an MFP header, by a whole buffer in one segment, or by two segments in a
// row that state it. Otherwise one corrupted packet could demand buffers of gigabytes.
static void add_length(struct lengths *lengths, const struct capture_sight *sight, bool confirmed)
{
	const struct ejfat_re *re = &sight->segment.re;
	bool repeated = lengths->last == re->length && lengths->last_event == re->event_number;

	if ((confirmed || repeated || sight->segment.payload_size == re->length) &&
	    re->length > lengths->confirmed)
		lengths->confirmed = re->length;
	lengths->last = re->length;
	lengths->last_event = re->event_number;
}

// Counts a segment at offset 0. Returns false if memory ran out.
static bool add_head(struct learning *learning, struct port *port, struct source *source,
		     const struct capture_sight *sight, bool confirmed, uint16_t n_fragments)
{
	uint64_t *packing;

	source->tally.heads++;
	learning->heads++;
	if (!confirmed)
		return true;
	port->tally.confirmed++;
	source->tally.confirmed++;
	learning->confirmed++;
	if (sight->segment.re.event_number == MFP_END_OF_RUN)
		return true;
	packing = sparse_array_use(&learning->packings, n_fragments);
	if (packing)
		++*packing;
	return packing != NULL;
}

// Returns false if memory ran out.
static bool add_packet(struct learning *learning, const struct capture_packet *packet)
{
	struct capture_summary *summary = learning->summary;
	struct capture_sight sight = capture_look(packet);
	struct source *source;
	struct port *port;
	uint16_t n_fragments = 0;
	bool confirmed;

	if (!summary->packets++)
		summary->first_ns = packet->time_ns;
	summary->last_ns = packet->time_ns;
	summary->cut_packets += packet->captured < packet->length;
	if (sight.port == NO_PORT)
		return true;
	port = sparse_array_use(&learning->ports, sight.port);
	if (!port)
		return false;
	port->tally.packets++;
	if (!sight.plausible)
		return true;
	source = sparse_array_use(&learning->sources, sight.segment.re.data_id);
	if (!source)
		return false;
	port->tally.segments++;
	source->tally.segments++;
	confirmed = confirm(&sight, &n_fragments);
	add_length(&source->lengths, &sight, confirmed);
	return sight.segment.re.offset ||
	       add_head(learning, port, source, &sight, confirmed, n_fragments);
}

static bool accepts_port(const struct learning *learning, const struct tally *port,
			 const struct tally *busiest)
{
	if (learning->summary->has_mfps)
		return port->confirmed && port->confirmed >= busiest->confirmed / BUSY_PORT_RATIO;
	return port->segments && 2 * port->segments >= port->packets &&
	       port->segments >= busiest->segments / BUSY_PORT_RATIO;
}

static bool accepts_source(const struct learning *learning, const struct tally *source,
			   const struct tally *busiest)
{
	if (learning->summary->has_mfps)
		return source->confirmed;
	return source->heads && source->heads >= busiest->heads / BUSY_ID_RATIO;
}

// The largest of each counter.
static struct tally find_busiest(const struct sparse_array *tallies)
{
	struct tally busiest = { 0 };
	const struct tally *tally;

	for (uint32_t i = 0; (tally = sparse_array_next(tallies, i, &i)) != NULL; i++) {
		if (tally->segments > busiest.segments)
			busiest.segments = tally->segments;
		if (tally->heads > busiest.heads)
			busiest.heads = tally->heads;
		if (tally->confirmed > busiest.confirmed)
			busiest.confirmed = tally->confirmed;
	}
	return busiest;
}

static void choose_ports(struct learning *learning)
{
	struct capture_summary *summary = learning->summary;
	struct tally busiest = find_busiest(&learning->ports);
	struct port *port;

	for (uint32_t i = 0; (port = sparse_array_next(&learning->ports, i, &i)) != NULL; i++) {
		if (!accepts_port(learning, &port->tally, &busiest))
			continue;
		port->is_accepted = true;
		if (i == ETHERNET)
			summary->ether_type = true;
		else
			summary->udp_ports[summary->n_udp_ports++] = (uint16_t)i;
	}
}

static void choose_sources(struct learning *learning)
{
	struct capture_summary *summary = learning->summary;
	struct tally busiest = find_busiest(&learning->sources);
	struct source *source;

	for (uint32_t i = 0; (source = sparse_array_next(&learning->sources, i, &i)) != NULL; i++) {
		if (!accepts_source(learning, &source->tally, &busiest))
			continue;
		summary->source_ids[summary->n_sources++] = (uint16_t)i;
		source->index = summary->n_sources;
		if (source->lengths.confirmed > summary->largest_buffer)
			summary->largest_buffer = source->lengths.confirmed;
	}
}

static uint32_t choose_packing(const struct learning *learning)
{
	const uint64_t *heads;
	uint32_t packing = 1;
	uint64_t most = 0;

	for (uint32_t n = 1; (heads = sparse_array_next(&learning->packings, n, &n)) != NULL; n++) {
		if (*heads > most) {
			most = *heads;
			packing = n;
		}
	}
	return packing;
}

// Second reading: adds a segment that belongs to an accepted port and an accepted source.
static int add_segment(struct learning *learning, const struct capture_packet *packet)
{
	struct capture_summary *summary = learning->summary;
	struct capture_sight sight = capture_look(packet);
	const struct source *source;
	const struct port *port;

	if (!sight.plausible)
		return 0;
	port = sparse_array_find(&learning->ports, sight.port);
	source = sparse_array_find(&learning->sources, sight.segment.re.data_id);
	if (!port || !port->is_accepted || !source || !source->index ||
	    sight.segment.re.length > source->lengths.confirmed)
		return 0;
	summary->segments++;
	summary->cut_segments += packet->captured < packet->length;
	if (packet->length > summary->largest_frame)
		summary->largest_frame = packet->length;
	if (sight.segment.re.event_number == MFP_END_OF_RUN)
		return 0;
	return open_events_add(learning->open, sight.segment.re.event_number, source->index - 1,
			       sight.segment.re.length);
}

static int out_of_memory(const char *path, char *error)
{
	return error_line(error, SOURCE_ERROR_SIZE, "capture %s: out of memory", path);
}

static int no_segments(const struct capture_summary *summary, const char *path, char *error)
{
	char cut[128] = "";

	if (summary->cut_packets)
		snprintf(cut, sizeof(cut),
			 "; of %llu it has only the first bytes: capture whole packets (tcpdump "
			 "-s 0)",
			 (unsigned long long)summary->cut_packets);
	return error_line(error, SOURCE_ERROR_SIZE,
			  "capture %s: there are no segments among its %llu packets%s%s%.200s",
			  path, (unsigned long long)summary->packets, cut,
			  summary->problem[0] ? "; " : "", summary->problem);
}

static int first_reading(struct learning *learning, const char *path, char *error)
{
	struct capture_summary *summary = learning->summary;
	struct capture_packet packet;
	struct capture *capture;
	bool done = true;

	if (capture_open(&capture, path, error))
		return -1;
	while (done && capture_next(capture, &packet))
		done = add_packet(learning, &packet);
	if (capture_problem(capture))
		snprintf(summary->problem, sizeof(summary->problem), "%s",
			 capture_problem(capture));
	capture_close(capture);
	if (!done)
		return out_of_memory(path, error);
	summary->has_mfps = learning->confirmed && 2 * learning->confirmed >= learning->heads;
	choose_ports(learning);
	choose_sources(learning);
	if (summary->n_udp_ports && summary->ether_type) {
		snprintf(error, SOURCE_ERROR_SIZE,
			 "capture %s: some segments are in UDP datagrams, some behind EtherType "
			 "0x%04x: filter one kind out (tcpdump -r FILE -w OTHER udp)",
			 path, NET_TYPE_EVB);
		return -1;
	}
	if (summary->n_sources && (summary->n_udp_ports || summary->ether_type))
		return 0;
	return no_segments(summary, path, error);
}

static uint64_t find_slot_size(const struct capture_summary *summary)
{
	// A buffer that is not an MFP gets an MFP header in front.
	uint64_t each = mfp_error_size(summary->packing) + MFP_HEADER_SIZE + MEP_DEFAULT_ALIGN;

	return mep_header_size(summary->n_sources, MEP_DEFAULT_ALIGN) + summary->largest_event +
	       summary->n_sources * each;
}

static int second_reading(struct learning *learning, const char *path, char *error)
{
	struct capture_summary *summary = learning->summary;
	struct open_events_result result;
	struct capture_packet packet;
	struct capture *capture;
	int failed = 0;

	learning->open = open_events_new(summary->n_sources);
	if (!learning->open)
		return out_of_memory(path, error);
	if (capture_open(&capture, path, error))
		return -1;
	while (!failed && capture_next(capture, &packet))
		failed = add_segment(learning, &packet);
	capture_close(capture);
	if (failed || open_events_finish(learning->open, &result))
		return out_of_memory(path, error);
	summary->events = result.events;
	summary->largest_open = result.largest_open;
	summary->largest_event = result.largest_event;
	if (summary->has_mfps)
		summary->packing = choose_packing(learning);
	else
		summary->packing = result.step >= 1 && result.step <= MFP_MAX_FRAGMENTS
				       ? (uint32_t)result.step
				       : 1;
	summary->slot_size = find_slot_size(summary);
	return 0;
}

int capture_learn(struct capture_summary **summary, const char *path, char *error)
{
	struct learning learning = {
		.summary = calloc(1, sizeof(**summary)),
		.ports.item_size = sizeof(struct port),
		.sources.item_size = sizeof(struct source),
		.packings.item_size = sizeof(uint64_t),
	};
	struct capture_summary *made = learning.summary;
	int result = -1;

	if (!made)
		return out_of_memory(path, error);
	if (!first_reading(&learning, path, error))
		result = second_reading(&learning, path, error);
	open_events_free(learning.open);
	sparse_array_free(&learning.ports);
	sparse_array_free(&learning.sources);
	sparse_array_free(&learning.packings);
	if (result)
		capture_summary_free(made);
	else
		*summary = made;
	return result;
}

void capture_summary_free(struct capture_summary *summary)
{
	free(summary);
}
