// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/xdp.h"

#include <string.h>

#include "port/xdp_interface.h"

void xdp_rules_add_addresses(struct xdp_rules *rules, const struct port_settings *port)
{
	if (port->has_address && !interface_has_address(port->device, port->address))
		rules->own_address = port->address;
	if (port->has_address6 && !interface_has_address6(port->device, port->address6)) {
		rules->has_own_address6 = true;
		memcpy(rules->own_address6, port->address6, sizeof(rules->own_address6));
	}
}
