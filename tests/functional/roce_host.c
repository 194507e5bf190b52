// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce_host.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "roce/responder.h"
#include "wire/icrc.h"
#include "wire/net.h"

#define QUEUE_PAIRS  64u
#define PATH_MTU     4096u
#define FRAME_MOST   9216u
#define PATIENCE_NS  250000000u
#define ACCEPT_NS    1000000000u
#define TIMEOUT_CODE 14 // 67 ms
#define SOURCE_PORT  49999
#define BURST        64u

struct host {
	const struct host_program *program;
	int socket;
	int interface;
	struct net_mac mac, peer; // the peer's as last heard
	uint32_t ip;
	struct qp_table table;
	struct responder *responder;
	struct requester *requester;
	struct cm *cm;
	unsigned next_number, n_connections;
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// --- what leaves ---

static void send_frame(const struct host *host, const uint8_t *bytes, size_t size)
{
	if (send(host->socket, bytes, size, 0) < 0 && errno != ENOBUFS)
		perror("send"); // it is asked for again
}

static void send_packet(const struct host *host, const struct qp_address *peer,
			const uint8_t *headers, size_t headers_size, const uint8_t *payload,
			size_t size)
{
	const struct net_udp4 udp = {
		.source_mac = host->mac,
		.destination_mac = host->peer,
		.source_ip = host->ip,
		.destination_ip = load_be32(peer->bytes + 12),
		.source_port = SOURCE_PORT,
		.destination_port = ROCE_UDP_PORT,
	};
	size_t pad = -size & 3u, all = headers_size + size + pad + ROCE_ICRC_SIZE;
	uint8_t frame[FRAME_MOST];
	size_t front = net_udp4_encode(frame, &udp, (uint16_t)all);

	memcpy(frame + front, headers, headers_size);
	if (size > 0)
		memcpy(frame + front + headers_size, payload, size);
	memset(frame + front + headers_size + size, 0, pad);
	icrc_append(frame + NET_ETH_SIZE, NET_IPV4_SIZE, all);
	send_frame(host, frame, front + all);
}

static void send_reply(const struct host *host, const struct responder_reply *reply)
{
	uint8_t headers[ROCE_MAX_HEADERS_SIZE] = { 0 };

	if (reply->send)
		send_packet(host, &reply->qp->peer, headers, responder_reply_encode(reply, headers),
			    NULL, 0);
}

static void send_all(struct host *host)
{
	struct responder_reply reply;
	struct requester_packet packet;
	struct cm_datagram datagram;
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];
	size_t size;

	while (responder_poll(host->responder, &reply))
		send_reply(host, &reply);
	for (unsigned i = 0; i < BURST && requester_poll(host->requester, now(), &packet); i++) {
		size = roce_headers_encode(headers, &packet.header);
		send_packet(host, &packet.qp->peer, headers, size,
			    (const uint8_t *)(uintptr_t)packet.user + packet.offset, packet.size);
	}
	while (cm_poll(host->cm, now(), &datagram)) {
		size = roce_headers_encode(headers, &datagram.header);
		send_packet(host, &datagram.peer.address, headers, size, datagram.mad,
			    sizeof(datagram.mad));
	}
}

// --- connections ---

static void accept_one(struct host *host, uint32_t id)
{
	struct host_connection *connection = calloc(1, sizeof(*connection));
	const struct cm_acceptance acceptance = { .user = connection, .access = QP_MAY_WRITE };

	if (connection == NULL)
		return;
	connection->host = host;
	connection->id = id;
	connection->number = host->next_number++;
	host->n_connections++;
	connection->buffer = malloc(HOST_RECEIVE);
	if (connection->buffer != NULL)
		(void)cm_accept(host->cm, id, &acceptance, now()); // else FAILED follows
}

static void end_one(struct host *host, struct host_connection *connection)
{
	if (connection == NULL)
		return;
	host->program->gone(connection);
	if (--host->n_connections == 0)
		host->next_number = 0;
	free(connection->buffer);
	free(connection);
}

static void serve_events(struct host *host)
{
	struct requester_completion done;
	struct cm_event event;

	while (cm_next_event(host->cm, &event)) {
		struct host_connection *connection = event.user;

		if (event.kind == CM_REQUESTED) {
			accept_one(host, event.id);
		} else if (event.kind == CM_ESTABLISHED) {
			connection->qp = event.qp;
			host->program->connected(connection);
		} else {
			if (event.qp != NULL)
				requester_flush(host->requester, event.qp);
			cm_release(host->cm, event.id);
			end_one(host, connection);
		}
	}
	while (requester_completion(host->requester, &done))
		if (done.qp->user != NULL && done.cause != QP_CLOSED)
			host->program->done(done.qp->user, &done);
}

// --- what comes ---

static void take_message(struct host *host, struct queue_pair *qp,
			 const struct responder_delivery *delivery, const uint8_t *payload)
{
	struct host_connection *connection = qp->user;

	if (delivery->is_write || connection == NULL)
		return;
	memcpy(connection->buffer + delivery->offset, payload, delivery->size);
	connection->received = delivery->offset + delivery->size;
	connection->qp = qp;
	if (delivery->ends)
		host->program->received(connection, connection->buffer, connection->received);
}

static void take_request(struct host *host, struct queue_pair *qp, const struct roce_packet *packet,
			 const uint8_t *payload, const struct qp_address *source)
{
	const struct responder_arrival arrival = { .source = *source };
	struct responder_delivery delivery;
	struct responder_reply reply, answer = { .send = false };
	enum responder_verdict verdict =
	    responder_check(host->responder, qp, packet, &arrival, now(), &delivery, &reply);

	if (verdict == RESPONDER_DELIVER) {
		responder_accept(host->responder, qp, &delivery, &answer);
		send_reply(host, &answer);
		take_message(host, qp, &delivery, payload);
	}
	send_reply(host, &reply);
}

static void take_response(struct host *host, struct queue_pair *qp,
			  const struct roce_packet *packet, const uint8_t *payload,
			  const struct qp_address *source)
{
	struct requester_data data;

	if (requester_receive(host->requester, qp, packet, source, now(), &data) == REQUESTER_DATA)
		memcpy((uint8_t *)(uintptr_t)data.user + data.offset, payload, data.size);
}

static void take_roce(struct host *host, const uint8_t *bytes, const struct net_frame *frame)
{
	const uint8_t *bth = bytes + frame->payload_offset;
	const struct qp_address source = qp_address_ipv4(load_be32(bytes + frame->l3_offset + 12));
	struct roce_packet packet;
	struct queue_pair *qp;

	if (!icrc_verify(bytes, frame) ||
	    roce_parse(bth, frame->payload_size, frame->payload_size, &packet) != WIRE_OK)
		return;
	memcpy(host->peer.bytes, bytes + 6, sizeof(host->peer.bytes));
	bth += packet.payload_offset;
	if (packet.destination_qpn == ROCE_CM_QPN) {
		const struct cm_peer peer = { .address = source };

		cm_receive(host->cm, &packet, bth, &peer, now());
		return;
	}
	qp = qp_find(&host->table, packet.destination_qpn);
	if (qp == NULL)
		return;
	if (packet.flags & ROCE_RESPONSE)
		take_response(host, qp, &packet, bth, &source);
	else if (packet.flags & ROCE_REQUEST)
		take_request(host, qp, &packet, bth, &source);
}

static void take_frame(struct host *host, uint8_t *bytes, size_t size)
{
	struct net_frame frame;

	if (net_parse(bytes, size, size, 0, &frame) != WIRE_OK)
		return;
	if (frame.kind == NET_ARP_IP4 && net_arp_answer(bytes, &frame, size, &host->mac, host->ip))
		send_frame(host, bytes, size);
	else if (frame.kind == NET_UDP4 && frame.destination_port == ROCE_UDP_PORT &&
		 load_be32(bytes + frame.l3_offset + 16) == host->ip)
		take_roce(host, bytes, &frame);
}

void host_poll(struct host *host)
{
	struct pollfd wait = { .fd = host->socket, .events = POLLIN };
	uint8_t bytes[FRAME_MOST];
	struct sockaddr_ll from;
	socklen_t from_size = sizeof(from);

	if (poll(&wait, 1, 1) > 0) {
		for (unsigned i = 0; i < BURST; i++) {
			ssize_t size = recvfrom(host->socket, bytes, sizeof(bytes), MSG_DONTWAIT,
						(struct sockaddr *)&from, &from_size);

			if (size <= 0)
				break;
			if (from.sll_pkttype != PACKET_OUTGOING)
				take_frame(host, bytes, (size_t)size);
		}
	}
	serve_events(host);
	send_all(host);
}

bool host_post(struct host_connection *connection, const struct requester_message *message,
	       uint8_t *memory)
{
	struct requester_message ours = *message;

	ours.user = (uintptr_t)memory;
	return requester_post(connection->host->requester, connection->qp, &ours);
}

// --- creation ---

static bool open_socket(struct host *host, const char *device)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htobe16(ETH_P_ALL) };
	struct ifreq request = { 0 };
	int size = 8 << 20;

	host->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htobe16(ETH_P_ALL));
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	if (host->socket < 0 || ioctl(host->socket, SIOCGIFINDEX, &request) != 0)
		return false;
	at.sll_ifindex = request.ifr_ifindex;
	if (ioctl(host->socket, SIOCGIFHWADDR, &request) != 0)
		return false;
	memcpy(host->mac.bytes, request.ifr_hwaddr.sa_data, sizeof(host->mac.bytes));
	(void)setsockopt(host->socket, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return bind(host->socket, (struct sockaddr *)&at, sizeof(at)) == 0;
}

static bool make_engines(struct host *host, uint16_t port)
{
	uint64_t seed = 0;
	struct responder_parameters responder = {
		.table = &host->table,
		.largest_message = HOST_RECEIVE,
		.ack_every = 16,
		.rnr_timer = 12,
		.max_reads = 1,
	};
	struct requester_parameters requester = {
		.table = &host->table, .depth = 64, .window = 64, .ack_interval = 16, .burst = 16
	};
	struct cm_parameters cm = {
		.table = &host->table,
		.address = qp_address_ipv4(host->ip),
		.guid = load_be32(host->mac.bytes),
		.response_timeout = PATIENCE_NS,
		.accept_timeout = ACCEPT_NS,
		.connections = QUEUE_PAIRS,
		.half_open = QUEUE_PAIRS,
		.half_open_of_peer = QUEUE_PAIRS,
		.of_peer = QUEUE_PAIRS,
		.path_mtu = PATH_MTU,
		.port = port,
		.n_ports = 1,
		.retries = 15,
		.timeout_code = TIMEOUT_CODE,
		.retry_count = 7,
		.rnr_retry = 7,
		.max_reads = 1,
	};

	(void)!getrandom(&seed, sizeof(seed), 0);
	cm.seed = seed;
	if (!qp_table_create(&host->table, QUEUE_PAIRS))
		return false;
	host->responder = responder_create(&responder);
	host->requester = requester_create(&requester);
	host->cm = cm_create(&cm);
	return host->responder != NULL && host->requester != NULL && host->cm != NULL;
}

struct host *host_open(const char *device, uint32_t address, uint16_t port,
		       const struct host_program *program)
{
	struct host *host = calloc(1, sizeof(*host));

	if (host == NULL)
		return NULL;
	host->program = program;
	host->ip = address;
	if (!open_socket(host, device) || !make_engines(host, port)) {
		perror(device);
		host_close(host);
		return NULL;
	}
	return host;
}

void host_close(struct host *host)
{
	cm_destroy(host->cm);
	requester_destroy(host->requester);
	responder_destroy(host->responder);
	qp_table_destroy(&host->table);
	if (host->socket >= 0)
		close(host->socket);
	free(host);
}
