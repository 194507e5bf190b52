// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a connection message, of InfiniBand and of FERoCE: what is decoded lies inside, and
// what is encoded of it decodes to the same.
#include "fuzz.h"

#include "wire/feroce_cm.h"
#include "wire/roce_cm.h"

static void check_inside(const uint8_t *data, size_t size, const uint8_t *at, size_t n)
{
	FUZZ_CHECK(at >= data && at + n <= data + size);
}

static void check_addresses(const struct roce_cm *message)
{
	uint8_t again[ROCE_CM_IP_SIZE];
	struct roce_cm_ip ip;

	if (roce_cm_ip_decode(message->private_data, message->private_size, &ip) != WIRE_OK)
		return;
	FUZZ_CHECK(ip.version == 4 || ip.version == 6);
	roce_cm_ip_encode(again, &ip);
	FUZZ_CHECK(memcmp(again + 2, message->private_data + 2, ROCE_CM_IP_SIZE - 2) == 0);
}

// Encoding drops reserved bits only: once more, and nothing changes.
static void check_encoded(const struct roce_cm *message)
{
	uint8_t once[ROCE_CM_MAD_SIZE], twice[ROCE_CM_MAD_SIZE];
	struct roce_cm again;

	FUZZ_CHECK(roce_cm_encode(once, message) == WIRE_OK);
	FUZZ_CHECK(roce_cm_decode(once, sizeof(once), &again) == WIRE_OK);
	FUZZ_CHECK(again.attribute == message->attribute);
	FUZZ_CHECK(again.transaction == message->transaction);
	FUZZ_CHECK(again.local_id == message->local_id && again.remote_id == message->remote_id);
	FUZZ_CHECK(again.info_size == message->info_size);
	FUZZ_CHECK(again.private_size == message->private_size);
	FUZZ_CHECK(memcmp(again.private_data, message->private_data, again.private_size) == 0);
	FUZZ_CHECK(roce_cm_encode(twice, &again) == WIRE_OK);
	FUZZ_CHECK(memcmp(once, twice, sizeof(once)) == 0);
}

static void check_mad(const uint8_t *data, size_t size)
{
	struct roce_cm message;

	if (roce_cm_decode(data, size, &message) != WIRE_OK)
		return;
	FUZZ_CHECK(message.private_size == roce_cm_private_room(message.attribute));
	check_inside(data, size, message.private_data, message.private_size);
	if (message.info_size > 0)
		check_inside(data, size, message.info, message.info_size);
	check_addresses(&message);
	check_encoded(&message);
}

static void check_feroce(const uint8_t *data, size_t size)
{
	uint8_t once[FEROCE_CM_SIZE], twice[FEROCE_CM_SIZE];
	struct feroce_cm message;

	if (feroce_cm_decode(data, size, &message) != WIRE_OK)
		return;
	feroce_cm_encode(once, &message);
	FUZZ_CHECK(once[0] == data[0] && memcmp(once + 52, data + 52, 12) == 0);
	FUZZ_CHECK(feroce_cm_decode(once, sizeof(once), &message) == WIRE_OK);
	feroce_cm_encode(twice, &message);
	FUZZ_CHECK(memcmp(once, twice, sizeof(once)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_mad(data, size);
	check_feroce(data, size);
	return 0;
}
