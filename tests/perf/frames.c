// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "frames.h"

#include <stdlib.h>

#include "base/random.h"
#include "perf_tool.h"
#include "wire/mfp.h"

uint8_t *frame_make_mfp(uint16_t source_id, unsigned packing, unsigned size, uint32_t *length)
{
	struct mfp_header header = {
		.n_fragments = (uint16_t)packing,
		.source_id = source_id,
		.align_log2 = 2,
		.version = 1,
	};
	uint16_t *sizes = calloc(packing, sizeof(*sizes));
	uint8_t *types = calloc(packing, 1), *bytes;

	if (sizes == NULL || types == NULL || size > UINT16_MAX)
		perf_fail("no MFP of %u fragments of %u bytes", packing, size);
	for (unsigned i = 0; i < packing; i++) {
		sizes[i] = (uint16_t)size;
		types[i] = MFP_TYPE_DAQ;
	}
	*length = (uint32_t)mfp_encoded_size(packing, sizes, header.align_log2);
	bytes = malloc(*length);
	if (*length == 0 || bytes == NULL)
		perf_fail("no MFP of %u fragments of %u bytes", packing, size);
	for (uint32_t i = 0; i < *length; i++)
		bytes[i] = (uint8_t)random_mix(i);
	if (mfp_encode_header(bytes, *length, &header, types, sizes) != WIRE_OK)
		perf_fail("no MFP of %u fragments of %u bytes", packing, size);
	free(sizes);
	free(types);
	return bytes;
}

void frame_headers(uint8_t *frame, const struct ejfat_re *re, uint16_t payload_size)
{
	const struct net_udp4 udp = {
		.source_mac = { { 2, 0, 0, 0, 0, 1 } },
		.destination_mac = { { 2, 0, 0, 0, 0, 2 } },
		.source_ip = 0x0a000001,
		.destination_ip = 0x0a000002,
		.source_port = 49152,
		.destination_port = FRAME_PORT,
	};

	net_udp4_encode(frame, &udp, (uint16_t)(EJFAT_RE_SIZE + payload_size));
	ejfat_re_encode(frame + NET_HEADERS_SIZE, re);
}
