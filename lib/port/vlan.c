// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/vlan.h"

#include <string.h>

#include "wire/net.h"
#include "wire/pfc.h"

#define PRIORITY_SHIFT 13

void vlan_tagger_make(struct vlan_tagger *tagger, const struct port_settings *port,
		      const struct port_traffic *traffic)
{
	unsigned data = port->flow_control.priority, control = data;

	*tagger = (struct vlan_tagger){ 0 };
	if (traffic != NULL) {
		control = traffic->control_priority;
		tagger->control_dscp = traffic->control_dscp;
	}
	tagger->data_tci = (uint16_t)(data << PRIORITY_SHIFT | port->vlan);
	tagger->control_tci = (uint16_t)(control << PRIORITY_SHIFT | port->vlan);
}

static void put_tag(uint8_t *tagged, uint16_t tci)
{
	memmove(tagged, tagged + NET_VLAN_SIZE, NET_ETH_SIZE - 2);
	store_be16(tagged + NET_ETH_SIZE - 2, NET_TYPE_VLAN);
	store_be16(tagged + NET_ETH_SIZE, tci);
}

void vlan_put_control_tag(const struct vlan_tagger *tagger, uint8_t *tagged)
{
	put_tag(tagged, tagger->control_tci);
}

// Whether a frame gets the data's priority. Frames other than IP, such as ARP, get the priority of
// control messages, so that they do not wait for data.
static bool is_data(const struct vlan_tagger *tagger, uint16_t type, const uint8_t *l3)
{
	switch (type) {
	case NET_TYPE_IPV4:
		return l3[1] >> 2 != tagger->control_dscp;
	case NET_TYPE_IPV6:
		return (load_be16(l3) >> 6 & 0x3F) != tagger->control_dscp;
	case NET_TYPE_ARP:
		return false;
	default:
		return true;
	}
}

// Tags one frame, if it needs a tag and its first buffer has headroom for it.
static void tag(const struct vlan_tagger *tagger, struct rte_mbuf *mbuf)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint16_t type;
	uint8_t *tagged;

	if (mbuf->data_len < NET_ETH_SIZE + sizeof(uint16_t))
		return;
	type = load_be16(bytes + NET_ETH_SIZE - 2);
	if (type == NET_TYPE_VLAN || type == NET_TYPE_QINQ || type == PFC_TYPE_MAC_CONTROL)
		return;
	tagged = (uint8_t *)rte_pktmbuf_prepend(mbuf, NET_VLAN_SIZE);
	if (tagged == NULL)
		return;
	put_tag(tagged, is_data(tagger, type, bytes + NET_ETH_SIZE) ? tagger->data_tci
								    : tagger->control_tci);
}

// A frame that the driver does not accept now is passed again later. It has its tag then, and gets
// no second one.
uint16_t vlan_tag_burst(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
			void *tagger)
{
	(void)port_id;
	(void)queue;
	for (uint16_t i = 0; i < n; i++)
		tag(tagger, mbufs[i]);
	return n;
}
