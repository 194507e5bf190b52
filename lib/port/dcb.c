// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/dcb.h"

#include <limits.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <libmnl/libmnl.h>

#define MESSAGE_SIZE  8192
#define REPLY_SECONDS 1 // the kernel replies at once
#define ALIGNED       __attribute__((aligned(NLMSG_ALIGNTO)))

bool dcb_pfc_decode(const void *bytes, size_t size, struct dcb_pfc *pfc)
{
	const struct nlmsghdr *header = bytes;
	struct nlattr *outer, *inner;
	struct ieee_pfc content;

	// libmnl rounds the length up to whole words, which must not go beyond the bytes.
	if (size > INT_MAX || !mnl_nlmsg_ok(header, (int)size) ||
	    header->nlmsg_type != RTM_GETDCB || header->nlmsg_len % NLMSG_ALIGNTO != 0)
		return false;
	mnl_attr_for_each(outer, header, sizeof(struct dcbmsg))
	{
		if (mnl_attr_get_type(outer) != DCB_ATTR_IEEE)
			continue;
		mnl_attr_for_each_nested(inner, outer)
		{
			if (mnl_attr_get_type(inner) != DCB_ATTR_IEEE_PFC ||
			    mnl_attr_get_payload_len(inner) < sizeof(content))
				continue;
			memcpy(&content, mnl_attr_get_payload(inner), sizeof(content));
			pfc->enabled = content.pfc_en;
			memcpy(pfc->sent, content.requests, sizeof(pfc->sent));
			memcpy(pfc->received, content.indications, sizeof(pfc->received));
			return true;
		}
	}
	return false;
}

static bool request_pfc(struct mnl_socket *channel, const char *interface)
{
	const struct timeval patience = { .tv_sec = REPLY_SECONDS };
	char bytes[MESSAGE_SIZE] ALIGNED;
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct dcbmsg *message;

	request->nlmsg_type = RTM_GETDCB;
	request->nlmsg_flags = NLM_F_REQUEST;
	message = mnl_nlmsg_put_extra_header(request, sizeof(*message));
	message->cmd = DCB_CMD_IEEE_GET;
	return mnl_attr_put_strz_check(request, sizeof(bytes), DCB_ATTR_IFNAME, interface) &&
	       setsockopt(mnl_socket_get_fd(channel), SOL_SOCKET, SO_RCVTIMEO, &patience,
			  sizeof(patience)) == 0 &&
	       mnl_socket_sendto(channel, request, request->nlmsg_len) >= 0;
}

bool dcb_pfc_get(const char *interface, struct dcb_pfc *pfc)
{
	struct mnl_socket *channel = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	char reply[MESSAGE_SIZE] ALIGNED;
	ssize_t size = -1;

	if (channel == NULL)
		return false;
	if (request_pfc(channel, interface))
		size = mnl_socket_recvfrom(channel, reply, sizeof(reply));
	(void)mnl_socket_close(channel); // a failure has no effect here
	return size > 0 && dcb_pfc_decode(reply, (size_t)size, pfc);
}
