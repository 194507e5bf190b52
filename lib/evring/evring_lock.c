// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#define WAIT_STEP_NS 2000000
#define WAIT_STEPS   500

static struct flock one_byte(int64_t byte, short type)
{
	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1,
		.l_pid = 0, // required by F_OFD_SETLK
	};
}

int evring_lock_take(int file, int64_t byte)
{
	struct flock lock = one_byte(byte, F_WRLCK);

	if (fcntl(file, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int evring_lock_wait(int file, int64_t byte)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_NS };
	int rc = evring_lock_take(file, byte);

	for (unsigned i = 0; rc == -EAGAIN && i < WAIT_STEPS; i++) {
		nanosleep(&step, NULL);
		rc = evring_lock_take(file, byte);
	}
	return rc;
}

void evring_lock_drop(int file, int64_t byte)
{
	struct flock lock = one_byte(byte, F_UNLCK);

	// Unlocking a byte of an open file can only fail for lack of kernel memory; the lock is
	// then dropped when the descriptor is closed.
	(void)fcntl(file, F_OFD_SETLK, &lock);
}

bool evring_lock_is_held(int file, int64_t byte)
{
	// A request for a shared lock conflicts with exclusive locks only.
	struct flock lock = one_byte(byte, F_RDLCK);

	return fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}
