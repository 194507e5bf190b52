// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/xdp.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/error_line.h"
#include "port/driver_sockets.h"
#include "port/interface.h"
#include "port/xdp_telemetry.h"

// bpftool generates this header.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#include "evb_steer.skel.h"
#pragma GCC diagnostic pop

#define PROGRAM_NAME "evb_steer"
#define MAP_NAME     "xsks_map" // the name that DPDK's driver requires
#define fail(xdp, error, format, ...) \
	error_line(error, XDP_ERROR_SIZE, "interface %s: " format, (xdp)->interface, ##__VA_ARGS__)
#define REFUSED                                                                       \
	"the kernel refused the BPF program (%s): it needs CAP_BPF, CAP_PERFMON and " \
	"CAP_NET_ADMIN, and Linux 5.18"

// Replaces libbpf's function that prints errors on the standard error output.
static int say_nothing(enum libbpf_print_level level, const char *format, va_list list)
{
	(void)level;
	(void)format;
	(void)list;
	return 0;
}

// --- the copy for the driver ---------------------------------------------------------------------

static int write_object(struct xdp *xdp, char *error)
{
	size_t size;
	const void *bytes = evb_steer__elf_bytes(&size);

	xdp->object_file = memfd_create("evb_steer.o", MFD_CLOEXEC);
	if (xdp->object_file < 0 || write(xdp->object_file, bytes, size) != (ssize_t)size)
		return fail(xdp, error, "no memory for the BPF program (%s)", strerror(errno));
	snprintf(xdp->object_path, sizeof(xdp->object_path), "/proc/self/fd/%d", xdp->object_file);
	return 0;
}

// The name of the program with this id; empty if the process may not read it.
static void name_program(uint32_t id, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int program = bpf_prog_get_fd_by_id(id); // needs CAP_SYS_ADMIN

	name[0] = '\0';
	if (program < 0)
		return;
	if (bpf_obj_get_info_by_fd(program, &info, &size) == 0)
		memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	close(program);
}

// Removes the driver's copy that a process left attached because it was killed during its start. It
// has the name of evb's program, and no BPF link.
static int remove_leftover(const struct xdp *xdp, char *error)
{
	char name[BPF_OBJ_NAME_LEN];
	uint32_t id = 0;

	if (bpf_xdp_query_id(xdp->index, 0, &id) != 0 || id == 0)
		return 0;
	name_program(id, name);
	if (strcmp(name, PROGRAM_NAME) == 0) {
		if (bpf_xdp_detach(xdp->index, 0, NULL) == 0)
			return 0;
		return fail(xdp, error, "another evb receives from it (XDP program %u)", id);
	}
	if (name[0] == '\0')
		return fail(
		    xdp, error,
		    "an XDP program is attached to it, number %u, whose name only a process "
		    "with CAP_SYS_ADMIN can read: another evb receives from it, or one that "
		    "was killed left it, or it is another program's; end its owner, or: ip "
		    "link set dev %s xdp off",
		    id, xdp->interface);
	return fail(xdp, error,
		    "XDP program %u %s is attached to it: end its owner, or: ip link set dev %s "
		    "xdp off",
		    id, name, xdp->interface);
}

int xdp_prepare(struct xdp **out, const char *port, const char *interface, char *error)
{
	struct xdp *xdp = calloc(1, sizeof(*xdp));

	*out = xdp;
	if (xdp == NULL)
		return error_line(error, XDP_ERROR_SIZE, "out of memory");
	snprintf(xdp->port, sizeof(xdp->port), "%s", port);
	snprintf(xdp->interface, sizeof(xdp->interface), "%s", interface);
	xdp->object_file = xdp->driver_map = -1;
	xdp->settings_map = xdp->sources_map = xdp->addresses_map = -1;
	xdp->causes_map = xdp->strangers_map = -1;
	xdp->index = (int)if_nametoindex(interface);
	pthread_mutex_init(&xdp->lock, NULL); // cannot fail with these attributes
	libbpf_set_print(say_nothing);
	if (xdp->index == 0)
		return fail(xdp, error, "there is none of this name");
	if (remove_leftover(xdp, error) != 0 || write_object(xdp, error) != 0)
		return -1;
	xdp->before = open_descriptors();
	if (xdp->before == NULL)
		return fail(xdp, error, "/proc/self/fd cannot be read: is /proc mounted?");
	return 0;
}

// --- replacing the driver's copy -----------------------------------------------------------------

static bool is_socket_of_xdp(int descriptor)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
	       domain == AF_XDP;
}

static bool is_map_of_sockets(int descriptor)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	char path[32], target[32] = "";

	// The kernel also lists programs there, in another form.
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	return readlink(path, target, sizeof(target) - 1) > 0 &&
	       strcmp(target, "anon_inode:bpf-map") == 0 &&
	       bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0 &&
	       info.type == BPF_MAP_TYPE_XSKMAP && strcmp(info.name, MAP_NAME) == 0;
}

static bool was_open(const struct xdp *xdp, int descriptor)
{
	const int *before = xdp->before;

	while (*before >= 0 && *before != descriptor)
		before++;
	return *before >= 0;
}

// Finds the driver's sockets and its map among the descriptors that the driver opened.
static int find_what_the_driver_opened(struct xdp *xdp, char *error)
{
	int *now = open_descriptors();

	if (now == NULL)
		return fail(xdp, error, "/proc/self/fd cannot be read: is /proc mounted?");
	for (const int *descriptor = now; *descriptor >= 0; descriptor++) {
		if (was_open(xdp, *descriptor))
			continue;
		if (is_map_of_sockets(*descriptor))
			xdp->driver_map = *descriptor;
		else if (xdp->n_sockets < STEER_MAX_QUEUES && is_socket_of_xdp(*descriptor))
			xdp->sockets[xdp->n_sockets++] = *descriptor;
	}
	free(now);
	if (xdp->driver_map < 0 || xdp->n_sockets == 0)
		return fail(xdp, error, "the driver opened no AF_XDP socket that evb can find");
	return 0;
}

static int load_program(struct xdp *xdp, char *error)
{
	struct evb_steer *program = evb_steer__open();
	int result;

	if (program == NULL)
		return fail(xdp, error, "no memory for the BPF program (%s)", strerror(errno));
	xdp->program = program;
	result = bpf_map__reuse_fd(program->maps.xsks_map, xdp->driver_map);
	if (result == 0)
		result = evb_steer__load(program);
	if (result != 0)
		return fail(xdp, error, REFUSED, strerror(-result));
	xdp->settings_map = bpf_map__fd(program->maps.settings);
	xdp->sources_map = bpf_map__fd(program->maps.sources);
	xdp->addresses_map = bpf_map__fd(program->maps.addresses);
	xdp->causes_map = bpf_map__fd(program->maps.causes);
	xdp->strangers_map = bpf_map__fd(program->maps.strangers);
	return 0;
}

static int attach(struct xdp *xdp, char *error)
{
	int result = bpf_xdp_detach(xdp->index, 0, NULL); // the driver's copy

	if (result != 0)
		return fail(xdp, error, "the driver's BPF program cannot be detached (%s)",
			    strerror(-result));
	xdp->link = bpf_program__attach_xdp(xdp->program->progs.evb_steer, xdp->index);
	if (xdp->link == NULL)
		return fail(xdp, error, "the BPF program cannot be attached (%s)", strerror(errno));
	return 0;
}

static bool is_zero_copy(const struct xdp *xdp)
{
	struct xdp_options options = { 0 };
	socklen_t size = sizeof(options);

	return getsockopt(xdp->sockets[0], SOL_XDP, XDP_OPTIONS, &options, &size) == 0 &&
	       (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

static void make_report(struct xdp *xdp)
{
	unsigned queues = interface_rx_queues(xdp->interface);
	int n;

	xdp->zero_copy = is_zero_copy(xdp);
	n = snprintf(xdp->report, sizeof(xdp->report), "%s: XDP %s mode, %s", xdp->interface,
		     xdp_mode(xdp), xdp->zero_copy ? "zero copy" : "copying");

	if (queues > xdp->n_sockets)
		snprintf(xdp->report + n, sizeof(xdp->report) - (size_t)n,
			 "; it has %u rx queues of which %u are read: ethtool -L %s combined %u",
			 queues, xdp->n_sockets, xdp->interface, xdp->n_sockets);
}

int xdp_steer(struct xdp *xdp, const struct xdp_rules *rules, char *error)
{
	int cpus = libbpf_num_possible_cpus(), result;

	if (cpus < 1)
		return fail(xdp, error, "the number of CPUs is not known (%s)", strerror(-cpus));
	xdp->n_cpus = (unsigned)cpus;
	if (find_what_the_driver_opened(xdp, error) != 0 || load_program(xdp, error) != 0)
		return -1;
	result = xdp_maps_fill(xdp, rules);
	if (result != 0)
		return fail(xdp, error, "no room in the maps of the BPF program (%s)",
			    strerror(-result));
	if (attach(xdp, error) != 0)
		return -1;
	make_report(xdp);
	xdp_telemetry_add(xdp);
	return 0;
}

void xdp_close(struct xdp *xdp)
{
	if (xdp == NULL)
		return;
	xdp_telemetry_remove(xdp);
	(void)bpf_link__destroy(xdp->link); // NULL is allowed; if it fails, the kernel detaches
	evb_steer__destroy(xdp->program);   // NULL is allowed
	free(xdp->before);
	if (xdp->object_file >= 0)
		close(xdp->object_file);
	pthread_mutex_destroy(&xdp->lock);
	free(xdp);
}

// --- reports -------------------------------------------------------------------------------------

void xdp_explain(const struct xdp *xdp, char *text)
{
	uint32_t mtu = interface_mtu(xdp->interface);
	struct evb_steer *program = evb_steer__open_and_load();
	uint32_t attached = 0;
	int result;

	if (program == NULL) {
		(void)fail(xdp, text, REFUSED, strerror(errno));
		return;
	}
	// If the driver failed after it had attached its copy of the program, this copy is still
	// attached.
	result = bpf_xdp_query_id(xdp->index, 0, &attached);
	if (result == 0 && attached == 0) {
		result = bpf_xdp_attach(xdp->index, bpf_program__fd(program->progs.evb_steer),
					XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
		if (result == 0)
			result = bpf_xdp_detach(xdp->index, 0, NULL);
	}
	evb_steer__destroy(program);
	if (result != 0)
		(void)fail(xdp, text,
			   "its driver refused the BPF program (%s): at its MTU of %u it may be "
			   "unable to; lower that, or use profile af_packet",
			   strerror(-result), mtu);
	else
		(void)fail(xdp, text,
			   "it takes the BPF program, so the socket was refused: CAP_NET_RAW, the "
			   "limit of locked memory (ulimit -l), and that no other socket has the "
			   "queue");
}

const char *xdp_mode(const struct xdp *xdp)
{
	struct bpf_xdp_query_opts found = { .sz = sizeof(found) };

	if (xdp->link == NULL || bpf_xdp_query(xdp->index, 0, &found) != 0)
		return "none";
	switch (found.attach_mode) {
	case XDP_ATTACHED_DRV:
		return "native";
	case XDP_ATTACHED_SKB:
		return "generic";
	case XDP_ATTACHED_HW:
		return "offloaded";
	default:
		return "none";
	}
}
