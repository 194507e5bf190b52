// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "hosts.h"

#include <string.h>

struct host passive, active;
uint64_t now;

static uint64_t seed;

const struct cm_acceptance acceptance = {
	.user = &passive,
	.access = QP_MAY_WRITE,
	.private_size = 7,
	.private_data = (const uint8_t *)"welcome",
};

static struct cm_parameters parameters_of(struct host *host, uint32_t ip)
{
	host->address = qp_address_ipv4(ip);
	seed++; // as at another start
	return (struct cm_parameters){
		.table = &host->table,
		.address = host->address,
		.guid = seed << 32 | ip,
		.seed = seed,
		.response_timeout = TIMEOUT,
		.accept_timeout = PATIENCE,
		.connections = 32,
		.silence = SILENCE,
		.idle_timeout = IDLE,
		.half_open = 8,
		.half_open_of_peer = 4,
		.of_peer = 12,
		.path_mtu = 4096,
		.port = PORT,
		.retries = RETRIES,
		.timeout_code = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.max_reads = 4,
	};
}

void open_host(struct host *host, uint32_t ip, uint16_t n_ports)
{
	struct cm_parameters parameters;

	memset(host, 0, sizeof(*host));
	parameters = parameters_of(host, ip);
	parameters.n_ports = n_ports;
	assert_true(qp_table_create(&host->table, 64));
	host->cm = cm_create(&parameters);
	assert_non_null(host->cm);
}

int open_hosts(void **state)
{
	(void)state;
	now = 1000000000;
	open_host(&passive, 0x0A4D0002, 1);
	open_host(&active, 0x0A4D0001, 0);
	return 0;
}

int close_hosts(void **state)
{
	(void)state;
	cm_destroy(passive.cm);
	cm_destroy(active.cm);
	qp_table_destroy(&passive.table);
	qp_table_destroy(&active.table);
	return 0;
}

struct roce_cm message_of(const struct cm_datagram *datagram)
{
	uint8_t bytes[ROCE_MAX_HEADERS_SIZE + ROCE_CM_MAD_SIZE + ROCE_ICRC_SIZE] = { 0 };
	size_t size = roce_headers_encode(bytes, &datagram->header);
	struct roce_packet parsed;
	struct roce_cm message;

	memcpy(bytes + size, datagram->mad, ROCE_CM_MAD_SIZE);
	size += ROCE_CM_MAD_SIZE + ROCE_ICRC_SIZE;
	assert_int_equal(roce_parse(bytes, size, size, &parsed), WIRE_OK);
	assert_int_equal(parsed.opcode, ROCE_UD_SEND_ONLY);
	assert_int_equal(parsed.destination_qpn, ROCE_CM_QPN);
	assert_int_equal(parsed.deth.qkey, ROCE_CM_QKEY);
	assert_int_equal(parsed.payload_size, ROCE_CM_MAD_SIZE);
	assert_int_equal(roce_cm_decode(datagram->mad, ROCE_CM_MAD_SIZE, &message), WIRE_OK);
	return message;
}

void deliver(struct host *to, const struct host *from, const struct cm_datagram *datagram)
{
	const struct cm_peer source = { .address = from->address };

	cm_receive(to->cm, &datagram->header, datagram->mad, &source, now);
}

struct cm_datagram expect_message(struct host *host, enum roce_cm_attribute attribute)
{
	struct cm_datagram datagram;

	assert_true(cm_poll(host->cm, now, &datagram));
	assert_int_equal(message_of(&datagram).attribute, attribute);
	return datagram;
}

void expect_no_message(struct host *host)
{
	struct cm_datagram datagram;

	assert_false(cm_poll(host->cm, now, &datagram));
}

void expect_event(struct host *host, enum cm_event_kind kind)
{
	assert_true(cm_next_event(host->cm, &host->event));
	assert_int_equal(host->event.kind, kind);
}

void expect_no_event(struct host *host)
{
	assert_false(cm_next_event(host->cm, &host->event));
}

void exchange(struct random *random, double loss)
{
	struct cm_datagram datagram;
	bool found;

	do {
		found = cm_poll(active.cm, now, &datagram);
		if (found && (random == NULL || random_uniform(random) >= loss))
			deliver(&passive, &active, &datagram);
		if (cm_poll(passive.cm, now, &datagram)) {
			found = true;
			if (random == NULL || random_uniform(random) >= loss)
				deliver(&active, &passive, &datagram);
		}
	} while (found);
}

struct cm_destination destination(uint16_t port)
{
	return (struct cm_destination){
		.peer = passive.address,
		.port = port,
		.service = ROCE_RC,
		.path_mtu = 1024,
		.user = &active,
		.access = QP_MAY_READ,
		.private_size = 5,
		.private_data = (const uint8_t *)"hello",
	};
}

uint32_t connect_active(void)
{
	const struct cm_destination to = destination(PORT);
	uint32_t id = cm_connect(active.cm, &to, now);

	assert_int_not_equal(id, 0);
	return id;
}

void establish(uint32_t ids[2])
{
	ids[0] = connect_active();
	exchange(NULL, 0);
	expect_event(&passive, CM_REQUESTED);
	ids[1] = passive.event.id;
	assert_true(cm_accept(passive.cm, ids[1], &acceptance, now));
	exchange(NULL, 0);
	expect_event(&active, CM_ESTABLISHED);
	expect_event(&passive, CM_ESTABLISHED);
}
