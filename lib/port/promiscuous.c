// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/promiscuous.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

int promiscuous_open(const char *interface)
{
	struct packet_mreq membership = {
		.mr_ifindex = (int)if_nametoindex(interface),
		.mr_type = PACKET_MR_PROMISC,
	};
	int file = membership.mr_ifindex != 0 ? socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) : -1;

	if (file >= 0 && setsockopt(file, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership,
				    sizeof(membership)) != 0) {
		close(file);
		file = -1;
	}
	return file;
}
