// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "producer_ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evring/evring_claim.h"
#include "evring/evring_lock.h"
#include "evring/evring_members.h"
#include "evring/evring_memory.h"
#include "evring/evring_view.h"

// What the steps of opening a ring share.
struct opening {
	const struct producer_ring_parameters *parameters;
	const struct evring_directory *directory;
	const struct evring_lock *lock; // of the place in this directory
	struct evring_access access;
	struct producer_header plan;
	char *error;
};

// The byte of the place's lock file that says that a process has the ring: beyond those of event
// rings, by the name's hash (FNV-1a).
static int64_t byte_of(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name != '\0'; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return 2 * EVRING_LOCK_OWNER + (int64_t)(hash >> 2);
}

static const char *file_name(const char *path, const char *place)
{
	return path + strlen(place) + 1;
}

static bool has_sources(const struct producer_view *view,
			const struct producer_ring_parameters *parameters)
{
	return memcmp(view->source_ids, parameters->sources,
		      parameters->n_sources * sizeof(*parameters->sources)) == 0;
}

static bool is_planned(const struct producer_header *header, const struct producer_header *plan,
		       const struct producer_ring_parameters *parameters)
{
	return header->file_size == plan->file_size && header->data_size == plan->data_size &&
	       header->data_offset == plan->data_offset && header->blocks == plan->blocks &&
	       header->max_block == plan->max_block && header->n_sources == plan->n_sources &&
	       header->packing == parameters->packing &&
	       strcmp(header->name, parameters->name) == 0;
}

// --- adopting ------------------------------------------------------------------------------------

// Maps the ring of a dead process if it is the one that the parameters ask for.
static int map_old(struct producer_file *file, const struct opening *opening, int descriptor,
		   const struct producer_header *header)
{
	int rc;

	if (!is_planned(header, &opening->plan, opening->parameters))
		return -ESTALE;
	rc = evring_lock_take(descriptor, EVRING_LOCK_OWNER);
	if (rc == 0)
		rc = evring_access_set(descriptor, opening->access.group, opening->access.mode);
	if (rc == 0)
		rc = producer_view_map(&file->view, descriptor, header);
	if (rc != 0)
		return rc;
	file->guard = evring_guard_add(file->view.memory, file->view.file_size);
	if (has_sources(&file->view, opening->parameters))
		return 0;
	evring_guard_remove(file->guard);
	munmap(file->view.memory, file->view.file_size);
	file->view.memory = NULL;
	evring_lock_drop(descriptor, EVRING_LOCK_OWNER);
	return -ESTALE;
}

// Ends a ring that cannot be adopted, unless that would lose blocks: a producer may be attached. It
// either sees the end, or commits before, see producer_blocks.c.
static int end_old(const struct producer_file *file, const struct opening *opening, int descriptor,
		   const struct producer_header *header)
{
	struct producer_view view;
	struct evring_guard *guard;
	uint64_t n;
	int rc = producer_view_map(&view, descriptor, header);

	if (rc != 0)
		return evring_error(rc, opening->error, "%s: %s", file->path, strerror(-rc));
	guard = evring_guard_add(view.memory, view.file_size);
	atomic_store_explicit(&view.header->state, EVRING_ENDED, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	n = atomic_load_explicit(&view.header->head, memory_order_relaxed) -
	    atomic_load_explicit(&view.header->released, memory_order_relaxed);
	if (n != 0) {
		atomic_store_explicit(&view.header->state, EVRING_RUNNING, memory_order_relaxed);
		rc = evring_error(-ESTALE, opening->error,
				  "%s: is not as configured, and has %" PRIu64
				  " blocks that were not taken; remove the file to drop them",
				  file->path, n);
	}
	evring_guard_remove(guard);
	munmap(view.memory, view.file_size);
	return rc;
}

static int remove_old(const struct producer_file *file, const struct opening *opening)
{
	if (unlinkat(opening->lock->directory, file_name(file->path, file->place), 0) == 0)
		return -ENOENT;
	return evring_error(-errno, opening->error, "%s: cannot be removed: %s", file->path,
			    strerror(errno));
}

// Returns 0, -ENOENT if there is no ring now, or another negative errno with a line in error.
static int adopt(struct producer_file *file, const struct opening *opening)
{
	struct producer_header header = { 0 };
	char why[EVRING_ERROR_SIZE];
	uint64_t size;
	const int descriptor = evring_open_file(file->path, O_RDWR, &size);
	int rc = descriptor;

	if (rc == -ENOENT)
		return rc;
	if (rc < 0)
		return evring_error(rc, opening->error, "%s: %s", file->path, strerror(-rc));
	// An incomplete header is found by the check.
	(void)!pread(descriptor, &header, sizeof(header), 0);
	rc = producer_layout_check(&header, size, why);
	if (rc == 0) {
		rc = map_old(file, opening, descriptor, &header);
		file->adopted = rc == 0;
		if (rc == 0)
			return 0;
		// -EAGAIN: a process that may write the ring holds the owner's lock, but no owner
		// lives.
		rc = end_old(file, opening, descriptor, &header);
	} else {
		rc = 0; // nobody can use it
	}
	close(descriptor);
	return rc == 0 ? remove_old(file, opening) : rc;
}

// --- making --------------------------------------------------------------------------------------

static void fill_header(struct producer_file *file, const struct opening *opening, int descriptor,
			void *memory)
{
	const struct producer_ring_parameters *parameters = opening->parameters;
	struct producer_header *header = memory;

	*header = opening->plan;
	header->magic = PRODUCER_MAGIC;
	header->layout_version = PRODUCER_LAYOUT_VERSION;
	header->packing = parameters->packing;
	memcpy(header->name, parameters->name, strlen(parameters->name));
	memcpy(header + 1, parameters->sources,
	       parameters->n_sources * sizeof(*parameters->sources));
	producer_view_set(&file->view, descriptor, memory, header);
}

static int make_file(struct producer_file *file, const struct opening *opening, int descriptor,
		     const char *new_path)
{
	const size_t size = opening->plan.file_size;
	void *memory = NULL;
	int rc = evring_lock_take(descriptor, EVRING_LOCK_OWNER);

	if (rc == 0)
		rc = evring_access_set(descriptor, opening->access.group, opening->access.mode);
	if (rc != 0)
		return evring_error(rc, opening->error, "%s: %s", new_path, strerror(-rc));
	rc = evring_memory_reserve(&memory, descriptor, opening->directory, size, opening->error);
	if (rc == 0) {
		fill_header(file, opening, descriptor, memory);
		if (rename(new_path, file->path) != 0)
			rc = evring_error(-errno, opening->error, "%s: %s", file->path,
					  strerror(errno));
	}
	if (rc == 0) {
		file->guard = evring_guard_add(memory, size);
		return 0;
	}
	if (memory != NULL)
		munmap(memory, size);
	return rc;
}

static int make(struct producer_file *file, const struct opening *opening)
{
	char path[PRODUCER_PATH_SIZE];
	const char *name;
	int descriptor, rc;

	if (!producer_path(path, file->place, opening->parameters->name, true))
		return evring_error(-ENAMETOOLONG, opening->error, "%s: %s", file->place,
				    strerror(ENAMETOOLONG));
	name = file_name(path, file->place);
	(void)unlinkat(opening->lock->directory, name, 0); // of a process that died here
	descriptor = openat(opening->lock->directory, name,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (descriptor < 0)
		return evring_error(-errno, opening->error, "%s: %s", path, strerror(errno));
	rc = make_file(file, opening, descriptor, path);
	if (rc != 0) {
		(void)unlinkat(opening->lock->directory, name, 0);
		close(descriptor);
	}
	return rc;
}

// --- opening -------------------------------------------------------------------------------------

static int check_parameters(const struct producer_ring_parameters *parameters, char *error)
{
	const unsigned mode = parameters->mode;
	struct producer_header plan;

	if (parameters->appliance == NULL || !evring_name_is_valid(parameters->appliance) ||
	    parameters->name == NULL || !evring_name_is_valid(parameters->name))
		return evring_error(-EINVAL, error,
				    "names of appliances and rings are 1 to %d characters of "
				    "[A-Za-z0-9_-]",
				    EVRING_NAME_SIZE - 1);
	if (mode != 0 && mode != 0600 && mode != 0660 && mode != 0666)
		return evring_error(-EINVAL, error,
				    "producer ring %s: mode %o is not 600, 660 or 666",
				    parameters->name, mode);
	if (!producer_layout_plan(&plan, parameters->size, parameters->blocks,
				  parameters->max_block, parameters->n_sources,
				  PRODUCER_SMALLEST_DATA))
		return evring_error(-EINVAL, error,
				    "producer ring %s: %" PRIu64 " bytes for %u blocks of at most "
				    "%u bytes from %u sources are not possible",
				    parameters->name, parameters->size, parameters->blocks,
				    parameters->max_block, parameters->n_sources);
	return 0;
}

// Prepares the work in one directory whose place is locked.
static int enter(struct producer_file *file, struct opening *opening,
		 const struct evring_directory *directory, const struct evring_lock *lock)
{
	const struct producer_ring_parameters *parameters = opening->parameters;

	*file = (struct producer_file){ .hold = -1, .page_size = directory->page_size };
	opening->directory = directory;
	opening->lock = lock;
	if (lock->why != 0)
		return evring_error(lock->why, opening->error, "%s/evb-%s: %s", directory->path,
				    parameters->appliance, strerror(-lock->why));
	memcpy(file->place, lock->path, sizeof(file->place));
	if (!producer_path(file->path, file->place, parameters->name, false) ||
	    !producer_layout_plan(&opening->plan, parameters->size, parameters->blocks,
				  parameters->max_block, parameters->n_sources,
				  directory->page_size))
		return evring_error(-EINVAL, opening->error,
				    "%s: the ring is too large, or its path too long",
				    directory->path);
	return 0;
}

// Says that this process has the ring. Returns 0 or a negative errno with a line in error.
static int hold(struct producer_file *file, const struct opening *opening)
{
	const int rc = evring_place_hold(opening->lock, byte_of(opening->parameters->name));

	if (rc == -EAGAIN)
		return evring_error(-EEXIST, opening->error, "%s: belongs to a live process",
				    file->path);
	if (rc < 0)
		return evring_error(rc, opening->error, "%s: %s", file->place, strerror(-rc));
	file->hold = rc;
	return 0;
}

// Makes the ring, or looks for the ring of a dead process: then -ENOENT if there is none here.
static int open_here(struct producer_file *file, const struct opening *opening,
		     int (*step)(struct producer_file *, const struct opening *))
{
	int rc = hold(file, opening);

	if (rc != 0)
		return rc;
	rc = step(file, opening);
	if (rc != 0)
		close(file->hold);
	return rc;
}

static bool serves(const struct evring_directory *directory,
		   const struct producer_ring_parameters *parameters)
{
	return parameters->directory != NULL || parameters->memory == EVRING_AUTO ||
	       directory->hugepages == (parameters->memory == EVRING_HUGEPAGES);
}

// Adopts the ring wherever it lies; otherwise makes it in the first directory with enough memory.
static int open_locked(struct producer_file *file, struct opening *opening,
		       const struct evring_directories *directories,
		       const struct evring_locks *locks)
{
	int rc = -ENOENT;

	for (unsigned i = 0; i < directories->count && rc == -ENOENT; i++) {
		if (locks->list[i].why != 0)
			continue;
		rc = enter(file, opening, &directories->list[i], &locks->list[i]);
		if (rc == 0)
			rc = open_here(file, opening, adopt);
	}
	if (rc != -ENOENT)
		return rc;
	rc = evring_error(-ENOSPC, opening->error, "no directory for the producer ring %s",
			  opening->parameters->name);
	for (unsigned i = 0; i < directories->count && rc != 0; i++) {
		if (!serves(&directories->list[i], opening->parameters))
			continue;
		rc = enter(file, opening, &directories->list[i], &locks->list[i]);
		if (rc == 0)
			rc = open_here(file, opening, make);
	}
	return rc;
}

int producer_file_open(struct producer_file *file,
		       const struct producer_ring_parameters *parameters, char *error)
{
	struct opening opening = { .parameters = parameters, .error = error };
	struct evring_directories directories;
	struct evring_locks locks;
	int rc = check_parameters(parameters, error);

	evring_guard_start();
	if (rc == 0)
		rc = evring_access_find(&opening.access, parameters->mode, parameters->unix_group,
					error);
	if (rc == 0)
		rc = evring_directories_find(&directories, parameters->directory, error);
	if (rc == 0)
		rc = evring_places_lock(&locks, &directories, parameters->appliance,
					&opening.access, error);
	if (rc != 0)
		return rc;
	rc = open_locked(file, &opening, &directories, &locks);
	evring_places_unlock(&locks);
	return rc;
}

void producer_file_close(struct producer_file *file, bool remove)
{
	struct evring_lock lock;

	evring_guard_remove(file->guard);
	// A failure leaves the file to the next process that opens the ring.
	if (remove && evring_place_lock(&lock, file->place, true) == 0) {
		if (evring_file_is(file->view.file, file->path))
			(void)unlink(file->path);
		evring_place_unlock(&lock);
	}
	producer_view_unmap(&file->view);
	close(file->hold);
}
