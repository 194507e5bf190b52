// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Handlers of the rx role (rx/handler.h) that pass frames on to the control role of the node:
// datagrams of the control protocol, and replies to the ARP requests that the control role sends.
#pragma once

#include "pipeline/link.h"
#include "rx/handler.h"

// `link`: to the control role; outlives the handlers.
struct rx_handler control_frame_handler(struct link *link, uint16_t control_port);
struct rx_handler control_arp_handler(struct link *link);
