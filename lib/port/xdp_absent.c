// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Replaces xdp.c and xdp_maps.c if evb is built without libbpf, clang or bpftool. xdp_prepare()
// always fails here, so the other functions are never called with a steering.
#include "port/xdp.h"

#include <errno.h>
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

const char *xdp_program_path(const struct xdp *xdp)
{
	(void)xdp;
	return "";
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

const char *xdp_report(const struct xdp *xdp)
{
	(void)xdp;
	return "";
}

const char *xdp_mode(const struct xdp *xdp)
{
	(void)xdp;
	return "none";
}

bool xdp_is_zero_copy(const struct xdp *xdp)
{
	(void)xdp;
	return false;
}

void xdp_close(struct xdp *xdp)
{
	(void)xdp;
}

int xdp_admit_source(struct xdp *xdp, uint16_t id)
{
	(void)xdp;
	(void)id;
	return -ENOTSUP;
}

int xdp_refuse_source(struct xdp *xdp, uint16_t id)
{
	(void)xdp;
	(void)id;
	return -ENOTSUP;
}

int xdp_admit_address(struct xdp *xdp, uint32_t address)
{
	(void)xdp;
	(void)address;
	return -ENOTSUP;
}

int xdp_refuse_address(struct xdp *xdp, uint32_t address)
{
	(void)xdp;
	(void)address;
	return -ENOTSUP;
}

bool xdp_counters(const struct xdp *xdp, struct xdp_counters *counters)
{
	(void)xdp;
	*counters = (struct xdp_counters){ 0 };
	return false;
}

bool xdp_source_counter(const struct xdp *xdp, uint16_t id, struct steer_counter *counter)
{
	(void)xdp;
	(void)id;
	*counter = (struct steer_counter){ 0 };
	return false;
}

uint64_t xdp_missed(const struct xdp *xdp)
{
	(void)xdp;
	return 0;
}

unsigned xdp_strangers(const struct xdp *xdp, struct xdp_stranger *strangers, unsigned most)
{
	(void)xdp;
	(void)strangers;
	(void)most;
	return 0;
}
