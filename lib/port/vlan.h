// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// VLAN tags (IEEE 802.1Q) of sent frames. Each sent frame gets a tag with the port's VLAN and with
// the 802.1p priority that belongs to its DSCP. Frames that already have a tag are not changed.
// Pause frames get no tag, because only the link partner receives them. Received frames may have a
// tag or none.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "port/settings.h"
#include "port/tx_callbacks.h"

struct vlan_tagger {
	uint16_t data_tci, control_tci; // tags: priority << 13 | VLAN
	uint8_t control_dscp;
	struct tx_callbacks callbacks; // of the port on which the tagger is installed
};

// `traffic` contains the DSCP and the priority of control messages. NULL: there are no such
// messages.
void vlan_tagger_make(struct vlan_tagger *tagger, const struct port_settings *port,
		      const struct port_traffic *traffic);

// Tags a frame of the control protocol that begins NET_VLAN_SIZE bytes behind `tagged`, where the
// tagged frame begins.
void vlan_put_control_tag(const struct vlan_tagger *tagger, uint8_t *tagged);

// Tags the frames of a burst, as a callback (port/tx_callbacks.h) with the tagger as its context.
uint16_t vlan_tag_burst(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
			void *tagger);
