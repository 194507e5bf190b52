// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// VLAN tags (IEEE 802.1Q) on what a port sends: all its frames get one that says its VLAN, and the
// 802.1p priority that goes with their DSCP. Frames that have a tag already keep it, and pause
// frames have none: they go to the link partner only. What is received may be tagged or not.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "port/settings.h"
#include "port/tx_callbacks.h"

struct vlan_tagger {
	uint16_t data_tci, control_tci; // tags: priority << 13 | VLAN
	uint8_t control_dscp;
	struct tx_callbacks callbacks; // of the port that it is installed on
};

// `traffic` states which DSCP and priority control messages have; NULL: there are none.
void vlan_tagger_make(struct vlan_tagger *tagger, const struct port_settings *port,
		      const struct port_traffic *traffic);

// Tags one frame, if that is due and its first buffer has headroom for it.
void vlan_tag(const struct vlan_tagger *tagger, struct rte_mbuf *mbuf);

// Has a port tag all that it sends on its first n_queues queues, at most TX_CALLBACKS_MAX_QUEUES.
// False if memory ran out (rte_errno).
bool vlan_install(struct vlan_tagger *tagger, uint16_t port_id, uint16_t n_queues);

// Takes them out again; nothing is being sent.
void vlan_remove(struct vlan_tagger *tagger);
