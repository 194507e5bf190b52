// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "udp_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "perf_tool.h"
#include "wire/net.h"

#define SEND_BUFFER (8 << 20)
#define MOST_JOINED 65000u // bytes: less than an IPv4 packet has room for

static struct sockaddr_in address_of(const char *text, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		perf_fail("\"%s\" is no IPv4 address", text);
	return address;
}

void udp_stream_open(struct udp_stream *stream, const char *from, const char *address,
		     uint16_t port, uint32_t mtu)
{
	const struct sockaddr_in to = address_of(address, port);
	const struct sockaddr_in own = address_of(from != NULL ? from : "0.0.0.0", 0);
	int buffer = SEND_BUFFER;

	memset(stream, 0, sizeof(*stream));
	if (mtu <= NET_IPV4_SIZE + NET_UDP_SIZE + EJFAT_RE_SIZE + MFP_HEADER_SIZE)
		perf_fail("an MTU of %u has no room for a segment", mtu);
	stream->segment = mtu - NET_IPV4_SIZE - NET_UDP_SIZE - EJFAT_RE_SIZE;
	stream->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	// A smaller buffer serves too, with more waiting.
	(void)setsockopt(stream->socket, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	if (bind(stream->socket, (const struct sockaddr *)&own, sizeof(own)) != 0)
		perf_fail("%s: %s", from, strerror(errno));
	if (connect(stream->socket, (const struct sockaddr *)&to, sizeof(to)) != 0)
		perf_fail("%s:%u: %s", address, port, strerror(errno));
	for (unsigned i = 0; i < UDP_STREAM_BATCH; i++)
		stream->parts[i][0].iov_base = stream->heads[i];
}

static size_t size_of(const struct udp_stream *stream, unsigned segment)
{
	return stream->parts[segment][0].iov_len + stream->parts[segment][1].iov_len;
}

// The end of the segments that the kernel is given together with the first one: all but the last
// one have its size.
static unsigned end_of_joined(const struct udp_stream *stream, unsigned first)
{
	const size_t size = size_of(stream, first);
	size_t bytes = size;
	unsigned end = first + 1;

	while (stream->joins && end < stream->n && size_of(stream, end - 1) == size &&
	       size_of(stream, end) <= size && bytes + size_of(stream, end) <= MOST_JOINED)
		bytes += size_of(stream, end++);
	return end;
}

static void set_message(struct udp_stream *stream, struct msghdr *message, uint8_t *control,
			unsigned first, unsigned end)
{
	const uint16_t size = (uint16_t)size_of(stream, first);
	struct cmsghdr *header;

	*message = (struct msghdr){ .msg_iov = stream->parts[first],
				    .msg_iovlen = 2 * (size_t)(end - first) };
	if (end - first == 1)
		return;
	message->msg_control = control;
	message->msg_controllen = CMSG_SPACE(sizeof(size));
	header = CMSG_FIRSTHDR(message);
	header->cmsg_level = SOL_UDP;
	header->cmsg_type = UDP_SEGMENT;
	header->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(header), &size, sizeof(size));
}

void udp_stream_flush(struct udp_stream *stream)
{
	unsigned n_messages = 0, done = 0;

	for (unsigned i = 0, end; i < stream->n; i = end) {
		end = end_of_joined(stream, i);
		set_message(stream, &stream->messages[n_messages].msg_hdr,
			    stream->controls[n_messages], i, end);
		n_messages++;
	}
	while (done < n_messages) {
		int n = sendmmsg(stream->socket, stream->messages + done, n_messages - done, 0);

		if (n < 0 && (errno == EINTR || errno == ENOBUFS || errno == ECONNREFUSED))
			continue;
		if (n < 0)
			perf_fail("sendmmsg: %s", strerror(errno));
		done += (unsigned)n;
	}
	for (unsigned i = 0; i < stream->n; i++)
		stream->bytes += size_of(stream, i);
	stream->packets += stream->n;
	stream->n = 0;
}

void udp_stream_put_segment(struct udp_stream *stream, const struct ejfat_re *re,
			    const uint8_t *bytes, uint32_t size)
{
	uint8_t *head = stream->heads[stream->n];
	struct iovec *parts = stream->parts[stream->n];
	union {
		const uint8_t *read_only;
		void *address;
	} memory = { .read_only = bytes };
	uint32_t patched = 0;

	ejfat_re_encode(head, re);
	if (re->offset == 0) {
		patched = size < MFP_HEADER_SIZE ? size : MFP_HEADER_SIZE;
		memcpy(head + EJFAT_RE_SIZE, bytes, patched);
		if (patched == MFP_HEADER_SIZE)
			mfp_patch_event_id(head + EJFAT_RE_SIZE, re->event_number);
	}
	parts[0].iov_len = EJFAT_RE_SIZE + patched;
	parts[1].iov_base = (uint8_t *)memory.address + patched;
	parts[1].iov_len = size - patched;
	if (++stream->n == UDP_STREAM_BATCH)
		udp_stream_flush(stream);
}

void udp_stream_put(struct udp_stream *stream, uint16_t source, uint64_t event_id,
		    const uint8_t *block, uint32_t length)
{
	struct ejfat_re re = { .event_number = event_id, .length = length, .data_id = source };

	for (uint32_t offset = 0; offset < length; offset += stream->segment) {
		uint32_t left = length - offset;

		re.offset = offset;
		udp_stream_put_segment(stream, &re, block + offset,
				       left < stream->segment ? left : stream->segment);
	}
}
