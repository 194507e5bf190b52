// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a host of the simulation would have captured. Frames of traffic kind `system` are those of
// evb. Those of the other kinds are UDP datagrams that carry the number of the message (8 bytes),
// its size in bytes (4) and its kind (4), big endian.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/internal.h"
#include "wire/icrc.h"
#include "wire/net.h"
#include "wire/pfc.h"
#include "wire/roce.h"

#define LINK_TYPE     DLT_EN10MB
#define MOST_BYTES    32768u
#define FCS_SIZE      4u
#define ICRC_SIZE     4u
#define PART_SIZE     16u // of the payload of a message
#define PORT          50000u
#define FIRST_ADDRESS 0x0a000001u // 10.0.0.1, of host 0
#define ECN_CAPABLE   2u          // RFC 3168, section 5
#define ECN_MARKED    3u

static struct net_mac mac_of(uint32_t host)
{
	struct net_mac mac = { { 0x02, 0 } };

	store_be32(mac.bytes + 2, FIRST_ADDRESS + host);
	return mac;
}

static struct net_udp4 udp_of(const struct sim_message_part *part, const struct sim_packet *packet)
{
	return (struct net_udp4){
		.source_mac = mac_of(part->message.from),
		.destination_mac = mac_of(part->message.to),
		.source_ip = FIRST_ADDRESS + part->message.from,
		.destination_ip = FIRST_ADDRESS + part->message.to,
		.source_port = PORT,
		.destination_port = part->is_notification ? ROCE_UDP_PORT : PORT,
		.dscp_ecn = packet->marked     ? ECN_MARKED
			    : packet->may_mark ? ECN_CAPABLE
					       : 0,
	};
}

static size_t write_notification(const struct net_udp4 *udp, const struct sim_packet *packet,
				 uint8_t *bytes)
{
	const uint16_t payload = ROCE_CNP_SIZE + ICRC_SIZE;

	net_udp4_encode(bytes, udp, payload);
	roce_cnp_encode(bytes + NET_HEADERS_SIZE, packet->flow & 0xffffff);
	icrc_append(bytes + NET_ETH_SIZE, NET_IPV4_SIZE, payload);
	return NET_HEADERS_SIZE + payload;
}

static size_t write_message(const struct sim_message_part *part, const struct sim_packet *packet,
			    uint8_t *bytes)
{
	const uint32_t beside = NET_HEADERS_SIZE + FCS_SIZE;
	const uint32_t payload =
	    packet->bytes > beside + PART_SIZE ? packet->bytes - beside : PART_SIZE;
	const struct net_udp4 udp = udp_of(part, packet);
	uint8_t *at = bytes + NET_HEADERS_SIZE;

	if (part->is_notification)
		return write_notification(&udp, packet, bytes);
	net_udp4_encode(bytes, &udp, (uint16_t)payload);
	store_be64(at, part->number);
	store_be32(at + 8, part->message.bytes);
	store_be32(at + 12, part->message.kind);
	return NET_HEADERS_SIZE + PART_SIZE;
}

// `size` of `length` bytes of the frame exist.
static void dump(struct capture *capture, const uint8_t *bytes, size_t size, size_t length)
{
	const uint64_t now = sim_now(capture->engine);
	// With nanosecond precision, tv_usec has nanoseconds.
	const struct pcap_pkthdr header = {
		.ts = { (time_t)(now / SIM_SECOND),
			(suseconds_t)(now % SIM_SECOND / SIM_NANOSECOND) },
		.caplen = (bpf_u_int32)size,
		.len = (bpf_u_int32)(length > size ? length : size),
	};

	pcap_dump((u_char *)capture->file, &header, bytes);
}

static void on_packet(void *context, const struct sim_packet *packet, bool is_sent)
{
	struct capture *capture = context;
	uint8_t bytes[MOST_BYTES];
	size_t size;

	(void)is_sent;
	if (capture->messages != NULL) {
		const struct sim_message_part part = sim_messages_part(capture->messages, packet);

		size = write_message(&part, packet, bytes);
	} else {
		size = sim_system_frame(capture->system, packet, bytes, sizeof(bytes));
	}
	if (size > 0)
		dump(capture, bytes, size, packet->bytes - FCS_SIZE);
}

static void on_pause(void *context, uint8_t priorities, const uint16_t quanta[SIM_MAX_PRIORITIES],
		     bool is_sent)
{
	struct capture *capture = context;
	struct pfc_frame frame = { .source = mac_of(capture->host), .priorities = priorities };
	uint8_t bytes[PFC_FRAME_SIZE];

	if (!is_sent)
		frame.source = (struct net_mac){ { 0x02, 0xff } }; // the switch
	memcpy(frame.quanta, quanta, sizeof(frame.quanta));
	pfc_encode(bytes, &frame);
	dump(capture, bytes, sizeof(bytes), sizeof(bytes));
}

bool capture_find_host(const struct simulation_capture *parameters,
		       const struct simulation_network *network, const uint32_t *places,
		       uint32_t *host, char *error)
{
	const char *name = parameters->name;
	const uint32_t n_hosts = network->topology.n_hosts;
	const uint32_t place = fabric_graph_find(&network->graph, name);
	unsigned long number = parameters->host;
	char *end = NULL;

	for (*host = 0; name[0] != '\0' && *host < n_hosts; ++*host)
		if (places[*host] == place)
			return true;
	errno = 0;
	if (name[0] != '\0')
		number = strtoul(name, &end, 10);
	if (name[0] != '\0' && (!isdigit((unsigned char)name[0]) || *end != '\0' || errno != 0)) {
		snprintf(
		    error, SIM_ERROR_SIZE,
		    "there is no host \"%s\": name a node of the file, a host of fabric.graph, "
		    "or the number of a host",
		    name);
		return false;
	}
	*host = (uint32_t)number;
	if (number < n_hosts)
		return true;
	snprintf(error, SIM_ERROR_SIZE, "there is no host %lu, only 0 to %u", number, n_hosts - 1);
	return false;
}

bool capture_begin(struct capture *capture, struct sim_fabric *fabric, uint32_t place, char *error)
{
	const struct sim_observer observer = { place, on_packet, on_pause, capture };

	snprintf(error, SIM_ERROR_SIZE, "no memory");
	capture->pcap =
	    pcap_open_dead_with_tstamp_precision(LINK_TYPE, MOST_BYTES, PCAP_TSTAMP_PRECISION_NANO);
	if (capture->pcap == NULL)
		return false;
	capture->file = pcap_dump_open(capture->pcap, capture->parameters->path);
	if (capture->file == NULL) {
		snprintf(error, SIM_ERROR_SIZE, "%s", pcap_geterr(capture->pcap));
		return false;
	}
	sim_observe(fabric, &observer);
	return true;
}

bool capture_end(struct capture *capture, char *error)
{
	bool is_written = true;

	if (capture->file != NULL) {
		is_written = pcap_dump_flush(capture->file) == 0 &&
			     ferror(pcap_dump_file(capture->file)) == 0;
		if (!is_written)
			snprintf(error, SIM_ERROR_SIZE, "%s: %s", capture->parameters->path,
				 strerror(errno));
		pcap_dump_close(capture->file);
	}
	if (capture->pcap != NULL)
		pcap_close(capture->pcap);
	return is_written;
}
