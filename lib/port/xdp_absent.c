// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Replaces xdp.c, xdp_maps.c and xdp_telemetry.c if evb is built without libbpf, clang or bpftool.
// xdp_prepare() always fails here, so the other functions are never called with a steering.
#include "port/xdp.h"

#include <stdio.h>

int xdp_prepare(struct xdp **xdp, const char *port, const char *interface, char *error)
{
	(void)port;
	*xdp = NULL;
	snprintf(error, XDP_ERROR_SIZE,
		 "interface %s: this evb was built without XDP: build it with -Dxdp=enabled (needs "
		 "clang, bpftool and libbpf), or use profile af_packet",
		 interface);
	return -1;
}

int xdp_steer(struct xdp *xdp, const struct xdp_rules *rules, char *error)
{
	(void)xdp;
	(void)rules;
	(void)error;
	return -1;
}

void xdp_explain(const struct xdp *xdp, char *text)
{
	(void)xdp;
	text[0] = '\0';
}

const char *xdp_mode(const struct xdp *xdp)
{
	(void)xdp;
	return "none";
}

void xdp_close(struct xdp *xdp)
{
	(void)xdp;
}

bool xdp_counters(const struct xdp *xdp, struct xdp_counters *counters)
{
	(void)xdp;
	*counters = (struct xdp_counters){ 0 };
	return false;
}
