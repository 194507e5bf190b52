// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fake_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <linux/if_link.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint32_t queue = 0;

static int map_of_sockets(const struct fake_driver *driver)
{
	return bpf_object__find_map_fd_by_name(driver->object, "xsks_map");
}

void fake_driver_open(struct fake_driver *driver, const char *path, int index)
{
	const struct bpf_program *program;

	*driver = (struct fake_driver){ .index = index };
	driver->object = bpf_object__open_file(path, NULL);
	assert_non_null(driver->object);
	assert_int_equal(bpf_object__load(driver->object), 0);
	program = bpf_object__next_program(driver->object, NULL);
	assert_non_null(program);
	assert_int_equal(
	    bpf_xdp_attach(index, bpf_program__fd(program), XDP_FLAGS_UPDATE_IF_NOEXIST, NULL), 0);
	driver->socket = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	assert_true(driver->socket >= 0);
	fake_driver_insert_socket(driver);
}

void fake_driver_insert_socket(const struct fake_driver *driver)
{
	assert_int_equal(
	    bpf_map_update_elem(map_of_sockets(driver), &queue, &driver->socket, BPF_ANY), 0);
}

void fake_driver_remove_socket(const struct fake_driver *driver)
{
	assert_int_equal(bpf_map_delete_elem(map_of_sockets(driver), &queue), 0);
}

void fake_driver_close(struct fake_driver *driver)
{
	if (driver->object == NULL)
		return;
	close(driver->socket);
	(void)bpf_xdp_detach(driver->index, 0, NULL); // the test may have done so
	bpf_object__close(driver->object);
	driver->object = NULL;
}
