// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Steers the packets that an interface receives, before the kernel's network stack processes them.
// Event traffic of admitted sources is redirected to the AF_XDP socket of its rx queue, event
// traffic of other sources is dropped, and all other packets pass to the kernel, so that ssh, ping
// and ARP still work.
//
// A packet can only be redirected to the socket of the queue on which it was received; the kernel
// refuses other sockets (xsk_rcv_check()). So the NIC distributes the sources over the queues.
//
// A segment with wrong headers is redirected, too: evb counts it with its exact cause.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "evb_steer.h"

#define ETHER_MAC_CONTROL 0x8808 // pause frames, for evb's flow control; the kernel ignores them
#define IP_OFFSET_MASK    0x1FFF // offset of a fragment, in units of 8 bytes
#define VLAN_TAGS         2

#define NEIGHBOUR_SOLICITATION 135

#define EJFAT_LB_SIZE    16
#define EJFAT_RE_VERSION 1

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, STEER_MAX_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct steer_settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, STEER_MAX_SOURCES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct steer_counter);
} sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STEER_MAX_ADDRESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STEER_N_CAUSES);
	__type(key, __u32);
	__type(value, struct steer_counter);
} causes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STEER_MAX_STRANGERS);
	__type(key, struct steer_stranger);
	__type(value, __u64);
} strangers SEC(".maps");

struct vlan_tag {
	__be16 tci;
	__be16 ether_type;
};

struct arp_ipv4 {
	__be16 hardware, protocol;
	__u8 hardware_size, protocol_size;
	__be16 operation;
	__u8 sender_mac[ETH_ALEN];
	__u8 sender_ip[4];
	__u8 target_mac[ETH_ALEN];
	__u8 target_ip[4];
};

struct neighbour_solicitation { // RFC 4861, section 4.3
	__u8 type, code;
	__be16 checksum;
	__u32 reserved;
	__u8 target[16];
};

struct ejfat_re_head {
	__u8 version;
	__u8 reserved;
	__be16 data_id;
};

struct packet {
	struct xdp_md *context;
	const struct steer_settings *settings;
	void *end;
	__u64 length;  // bytes of the packet; the program can read those up to `end`
	__u32 address; // IPv4 source, or 0
};

static __always_inline void count(const struct packet *packet, __u32 cause)
{
	struct steer_counter *counter = bpf_map_lookup_elem(&causes, &cause);

	if (!counter)
		return;
	counter->packets++;
	counter->bytes += packet->length;
}

static __always_inline int pass(const struct packet *packet)
{
	count(packet, STEER_PASSED);
	return XDP_PASS;
}

static __always_inline int drop(const struct packet *packet, __u32 cause)
{
	count(packet, cause);
	return XDP_DROP;
}

static __always_inline int refuse(const struct packet *packet, __u32 cause, __u32 id)
{
	struct steer_stranger stranger = { .address = packet->address, .id = id };
	__u64 *packets = bpf_map_lookup_elem(&strangers, &stranger);
	const __u64 one = 1;

	if (packets)
		__sync_fetch_and_add(packets, 1);
	else
		bpf_map_update_elem(&strangers, &stranger, &one, BPF_ANY);
	return drop(packet, cause);
}

// Redirects the packet to evb. `counter` is the counter of its source, or NULL.
static __always_inline int redirect(const struct packet *packet, struct steer_counter *counter)
{
	__u32 queue = packet->context->rx_queue_index;

	if (packet->length > packet->settings->largest_frame)
		return drop(packet, STEER_TOO_LONG);
	if (!bpf_map_lookup_elem(&xsks_map, &queue))
		return drop(packet, STEER_NO_SOCKET);
	if (counter) {
		counter->packets++;
		counter->bytes += packet->length;
	}
	count(packet, STEER_REDIRECTED);
	return bpf_redirect_map(&xsks_map, queue, XDP_DROP);
}

static __always_inline int steer_segment(const struct packet *packet, void *payload)
{
	const struct ejfat_re_head *re = payload;
	struct steer_counter *counter;
	const __u8 *magic = payload;
	__u32 id;

	if ((void *)(magic + 2) <= packet->end && magic[0] == 'L' && magic[1] == 'B')
		re = payload + EJFAT_LB_SIZE;
	if ((void *)(re + 1) > packet->end || re->version >> 4 != EJFAT_RE_VERSION)
		return redirect(packet, NULL);
	id = bpf_ntohs(re->data_id);
	counter = bpf_map_lookup_elem(&sources, &id);
	if (!counter)
		return refuse(packet, STEER_UNKNOWN_SOURCE, id);
	return redirect(packet, counter);
}

static __always_inline int steer_udp(const struct packet *packet, void *header)
{
	const struct steer_settings *set = packet->settings;
	const struct udphdr *udp = header;
	const struct steer_range *range = 0;
	__u16 port;

	if ((void *)(udp + 1) > packet->end)
		return pass(packet);
	port = bpf_ntohs(udp->dest);
#pragma unroll
	for (__u32 i = 0; i < STEER_MAX_RANGES; i++)
		if (i < set->n_ranges &&
		    (__u16)(port - set->ranges[i].first) < set->ranges[i].count)
			range = &set->ranges[i];
	if (!range)
		return pass(packet);
	if (set->check_addresses && !bpf_map_lookup_elem(&addresses, &packet->address))
		return refuse(packet, STEER_UNKNOWN_ADDRESS, STEER_NO_ID);
	return range->segments ? steer_segment(packet, header + sizeof(*udp))
			       : redirect(packet, NULL);
}

// Only the first fragment of a datagram contains the UDP port. evb receives and counts this
// fragment; the kernel receives the others and discards them after a timeout.
static __always_inline int steer_ipv4(struct packet *packet, void *header)
{
	const struct iphdr *ip = header;
	__u32 size;

	if ((void *)(ip + 1) > packet->end)
		return pass(packet);
	size = ip->ihl * 4;
	if (size < sizeof(*ip) || (bpf_ntohs(ip->frag_off) & IP_OFFSET_MASK) != 0)
		return pass(packet);
	packet->address = ip->saddr;
	if (ip->protocol == IPPROTO_UDP)
		return steer_udp(packet, header + size);
	if (ip->protocol == IPPROTO_ICMP && packet->settings->own_address != 0 &&
	    ip->daddr == packet->settings->own_address)
		return redirect(packet, NULL);
	return pass(packet);
}

static __always_inline bool is_own6(const struct packet *packet, const void *address)
{
	const __u32 *own = packet->settings->own_address6;
	__u32 words[4];

	__builtin_memcpy(words, address, sizeof(words));
	return packet->settings->has_own_address6 && words[0] == own[0] && words[1] == own[1] &&
	       words[2] == own[2] && words[3] == own[3];
}

// Neighbour solicitations are sent to a multicast address, which the kernel may use, too. So their
// target address determines the receiver.
static __always_inline int steer_icmp6(const struct packet *packet, const struct ipv6hdr *ip,
				       void *header)
{
	const struct neighbour_solicitation *message = header;

	if (is_own6(packet, &ip->daddr) ||
	    ((void *)(message + 1) <= packet->end && message->type == NEIGHBOUR_SOLICITATION &&
	     is_own6(packet, message->target)))
		return redirect(packet, NULL);
	return pass(packet);
}

static __always_inline int steer_ipv6(const struct packet *packet, void *header)
{
	const struct ipv6hdr *ip = header;

	if ((void *)(ip + 1) > packet->end)
		return pass(packet);
	if (ip->nexthdr == IPPROTO_ICMPV6)
		return steer_icmp6(packet, ip, header + sizeof(*ip));
	if (ip->nexthdr != IPPROTO_UDP)
		return pass(packet);
	return steer_udp(packet, header + sizeof(*ip));
}

static __always_inline int steer_arp(const struct packet *packet, void *header)
{
	const struct arp_ipv4 *arp = header;
	__u32 target;

	if ((void *)(arp + 1) > packet->end || packet->settings->own_address == 0)
		return pass(packet);
	__builtin_memcpy(&target, arp->target_ip, sizeof(target));
	return target == packet->settings->own_address ? redirect(packet, NULL) : pass(packet);
}

// cppcheck-suppress unknownMacro
SEC("xdp.frags")
int evb_steer(struct xdp_md *context)
{
	const __u32 first = 0;
	struct packet packet = {
		.context = context,
		.settings = bpf_map_lookup_elem(&settings, &first),
		.end = (void *)(long)context->data_end,
		.length = bpf_xdp_get_buff_len(context),
	};
	const struct ethhdr *ethernet = (void *)(long)context->data;
	void *header = (void *)(ethernet + 1);
	__u16 ether_type;

	if (!packet.settings)
		return XDP_PASS;
	if (!packet.settings->active || header > packet.end)
		return pass(&packet);
	ether_type = bpf_ntohs(ethernet->h_proto);
#pragma unroll
	for (int i = 0; i < VLAN_TAGS; i++) {
		const struct vlan_tag *tag = header;

		if (ether_type != ETH_P_8021Q && ether_type != ETH_P_8021AD)
			break;
		if ((void *)(tag + 1) > packet.end)
			return pass(&packet);
		ether_type = bpf_ntohs(tag->ether_type);
		header = (void *)(tag + 1);
	}
	if (ether_type == ETH_P_IP)
		return steer_ipv4(&packet, header);
	if (ether_type == ETH_P_IPV6)
		return steer_ipv6(&packet, header);
	if (ether_type == ETH_P_ARP)
		return steer_arp(&packet, header);
	if (packet.settings->ether_type != 0 && ether_type == packet.settings->ether_type)
		return steer_segment(&packet, header);
	if (ether_type == ETHER_MAC_CONTROL)
		return redirect(&packet, NULL);
	return pass(&packet);
}

char program_license[] SEC("license") = "BSD-3-Clause";
