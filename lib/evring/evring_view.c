// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/wire.h"

int evring_error(int rc, char *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	// A longer text is cut: what is wrong stands at its beginning.
	(void)vsnprintf(error, EVRING_ERROR_SIZE, format, arguments);
	va_end(arguments);
	return rc;
}

int evring_open_file(const char *path, int flags, uint64_t *size)
{
	const int file = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;

	if (file < 0)
		return -errno;
	if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
		close(file);
		return -EPROTO;
	}
	*size = (uint64_t)status.st_size;
	return file;
}

bool evring_file_is(int file, const char *path)
{
	struct stat ours, there;

	return fstat(file, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

static uint32_t power_of_two(uint32_t at_least)
{
	uint32_t power = 1;

	while (power < at_least)
		power *= 2;
	return power;
}

bool evring_layout_plan(struct evring_header *plan, uint32_t slots, uint64_t slot_size,
			uint64_t page_size)
{
	const uint64_t largest = INT64_MAX / 2;
	uint64_t slots_size;

	if (slots == 0 || slots > EVRING_MAX_SLOTS || slot_size == 0 || slot_size > largest)
		return false;
	slot_size = round_up(slot_size, EVRING_SLOT_ALIGNMENT);
	if (__builtin_mul_overflow(slot_size, (uint64_t)slots, &slots_size) || slots_size > largest)
		return false;

	memset(plan, 0, sizeof(*plan));
	plan->slots = slots;
	plan->slot_size = slot_size;
	plan->queue_size = power_of_two(slots);
	plan->header_size = sizeof(*plan);
	plan->queue_offset = round_up(sizeof(*plan), EVRING_CACHE_LINE);
	plan->logs_offset = plan->queue_offset + plan->queue_size * sizeof(uint64_t);
	plan->descriptors_offset =
	    round_up(plan->logs_offset + EVRING_MAX_DECIDERS * plan->queue_size * sizeof(uint64_t),
		     2 * EVRING_CACHE_LINE);
	plan->slots_offset = round_up(
	    plan->descriptors_offset + slots * sizeof(struct evring_descriptor), page_size);
	plan->file_size = round_up(plan->slots_offset + slots_size, page_size);
	return true;
}

int evring_layout_check(const struct evring_header *header, uint64_t file_size, char *error)
{
	struct evring_header plan;

	if (file_size < sizeof(*header) || header->magic != EVRING_MAGIC)
		return evring_error(-EPROTO, error, "is no event ring");
	if (header->layout_version != EVRING_LAYOUT_VERSION)
		return evring_error(-EPROTO, error, "has layout version %u, this library reads %u",
				    header->layout_version, EVRING_LAYOUT_VERSION);
	// The page size is not known here; every page size rounds 1 to a result that can be
	// checked.
	if (!evring_layout_plan(&plan, header->slots, header->slot_size, 1) ||
	    header->header_size != plan.header_size || header->slot_size != plan.slot_size ||
	    header->queue_size != plan.queue_size || header->queue_offset != plan.queue_offset ||
	    header->logs_offset != plan.logs_offset ||
	    header->descriptors_offset != plan.descriptors_offset ||
	    header->slots_offset < plan.slots_offset || header->slots_offset >= file_size ||
	    header->slots * header->slot_size > file_size - header->slots_offset ||
	    header->file_size != file_size)
		return evring_error(-EPROTO, error,
				    "has sizes in its header that contradict each other");
	if (header->n_builders > EVRING_MAX_BUILDERS || header->n_deciders > EVRING_MAX_DECIDERS ||
	    header->builder >= header->n_builders ||
	    memchr(header->name, 0, sizeof(header->name)) == NULL)
		return evring_error(-EPROTO, error, "has a header that makes no sense");
	return 0;
}

static void set(struct evring_view *view, int file, int members, const struct evring_header *header,
		void *control, void *slots)
{
	uint8_t *bytes = control;

	*view = (struct evring_view){
		.file = file,
		.members = members,
		.header = control,
		.queue = (_Atomic uint64_t *)(void *)(bytes + header->queue_offset),
		.logs = (_Atomic uint64_t *)(void *)(bytes + header->logs_offset),
		.descriptors =
		    (struct evring_descriptor *)(void *)(bytes + header->descriptors_offset),
		.slots = slots,
		.n_slots = header->slots,
		.queue_size = header->queue_size,
		.slot_size = header->slot_size,
		.control_size = header->slots_offset,
		.file_size = header->file_size,
	};
}

void evring_view_set(struct evring_view *view, int file, int members, void *memory,
		     const struct evring_header *header)
{
	set(view, file, members, header, memory, (uint8_t *)memory + header->slots_offset);
}

int evring_view_map(struct evring_view *view, int file, int members,
		    const struct evring_header *header)
{
	const int protection = members >= 0 ? PROT_READ | PROT_WRITE : PROT_READ;
	void *control, *slots;

	control = mmap(NULL, header->slots_offset, protection, MAP_SHARED, file, 0);
	if (control == MAP_FAILED)
		return -errno;
	slots = mmap(NULL, header->file_size - header->slots_offset, PROT_READ, MAP_SHARED, file,
		     (off_t)header->slots_offset);
	if (slots == MAP_FAILED) {
		const int error = errno;

		munmap(control, header->slots_offset);
		return -error;
	}
	set(view, file, members, header, control, slots);
	view->control_guard = evring_guard_add(control, view->control_size);
	view->slots_guard = evring_guard_add(slots, view->file_size - view->control_size);
	return 0;
}

bool evring_file_is_cut(int file, size_t file_size)
{
	struct stat status;

	return fstat(file, &status) == 0 && (uint64_t)status.st_size < file_size;
}

void evring_view_unmap(struct evring_view *view)
{
	if (view->header == NULL)
		return;
	evring_guard_remove(view->control_guard);
	evring_guard_remove(view->slots_guard);
	munmap(view->header, view->control_size);
	munmap(view->slots, view->file_size - view->control_size);
	close(view->file);
	if (view->members >= 0)
		close(view->members);
	memset(view, 0, sizeof(*view));
}
