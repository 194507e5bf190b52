// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/dcb.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_SIZE    8192
#define ANSWER_SECONDS 1 // the kernel answers at once

struct bytes {
	const uint8_t *at;
	size_t left;
};

// Takes the next attribute; false at the end, or where a length makes no sense.
static bool next_attribute(struct bytes *from, uint16_t *type, struct bytes *value)
{
	struct rtattr header;
	size_t whole;

	if (from->left < sizeof(header))
		return false;
	memcpy(&header, from->at, sizeof(header));
	if (header.rta_len < sizeof(header) || header.rta_len > from->left)
		return false;
	*type = header.rta_type & NLA_TYPE_MASK;
	*value = (struct bytes){ from->at + sizeof(header), header.rta_len - sizeof(header) };
	whole = RTA_ALIGN(header.rta_len);
	if (whole > from->left)
		whole = from->left;
	from->at += whole;
	from->left -= whole;
	return true;
}

static bool find_attribute(struct bytes in, uint16_t wanted, struct bytes *value)
{
	uint16_t type;

	while (next_attribute(&in, &type, value))
		if (type == wanted)
			return true;
	return false;
}

bool dcb_pfc_decode(const void *bytes, size_t size, struct dcb_pfc *pfc)
{
	const size_t headers = NLMSG_HDRLEN + sizeof(struct dcbmsg);
	struct nlmsghdr header;
	struct bytes rest, ieee, value;
	struct ieee_pfc content;

	if (size < headers)
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (header.nlmsg_type != RTM_GETDCB || header.nlmsg_len < headers ||
	    header.nlmsg_len > size)
		return false;
	rest = (struct bytes){ (const uint8_t *)bytes + headers, header.nlmsg_len - headers };
	if (!find_attribute(rest, DCB_ATTR_IEEE, &ieee) ||
	    !find_attribute(ieee, DCB_ATTR_IEEE_PFC, &value) || value.left < sizeof(content))
		return false;
	memcpy(&content, value.at, sizeof(content));
	pfc->enabled = content.pfc_en;
	for (unsigned i = 0; i < DCB_PRIORITIES; i++) {
		pfc->sent[i] = content.requests[i];
		pfc->received[i] = content.indications[i];
	}
	return true;
}

static bool ask(int socket, const char *interface)
{
	struct {
		struct nlmsghdr header;
		struct dcbmsg message;
		struct rtattr attribute;
		char name[DCB_NAME_SIZE];
	} request = {
		.header = {
			.nlmsg_type = RTM_GETDCB,
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.message = { .dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET },
		.attribute = { .rta_type = DCB_ATTR_IFNAME },
	};
	size_t length = strnlen(interface, sizeof(request.name) - 1);

	memcpy(request.name, interface, length);
	request.attribute.rta_len = (uint16_t)RTA_LENGTH(length + 1);
	request.header.nlmsg_len = (uint32_t)(sizeof(request) - sizeof(request.name) + length + 1);
	return send(socket, &request, request.header.nlmsg_len, 0) ==
	       (ssize_t)request.header.nlmsg_len;
}

bool dcb_pfc_get(const char *interface, struct dcb_pfc *pfc)
{
	const struct timeval patience = { .tv_sec = ANSWER_SECONDS };
	int channel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	uint8_t answer[ANSWER_SIZE];
	ssize_t size = -1;

	if (channel < 0)
		return false;
	if (setsockopt(channel, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
	    ask(channel, interface))
		size = recv(channel, answer, sizeof(answer), 0);
	close(channel);
	return size > 0 && dcb_pfc_decode(answer, (size_t)size, pfc);
}
