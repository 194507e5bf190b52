// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The last will of a process: frames that are sent out of an interface of the kernel once the
// process has ended, whether it returned, crashed or was killed. A small process of its own, forked
// before this one has threads, holds them in memory that both share, and waits on a robust mutex
// (pthread_mutexattr_setrobust(3)) that this process never unlocks: the kernel releases it when the
// thread that holds it ends, before it frees the memory of the process. So the frames leave within
// a millisecond, also where the process is the first one of a container, whose end ends all others.
//
// A process that is stopped (SIGSTOP), or a machine that has lost its power, sends nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LAST_WILL_FRAME_MOST 160u // bytes of a frame, from the Ethernet header on
#define LAST_WILL_ERROR_SIZE 128

struct last_will;

// For the thread that calls it, which has to last as long as the process, as main() does, and to be
// the only one so far. interface: the kernel's name of it, in this network namespace. n: frames.
// Needs CAP_NET_RAW. NULL with one line in error[LAST_WILL_ERROR_SIZE].
struct last_will *last_will_make(const char *interface, unsigned n, char *error);

// Sets or replaces frame `index` < n, complete from its Ethernet header on; a size of 0 takes it
// back. False if it is too large. If the process ends meanwhile, the frame before is sent. One
// thread at a time.
bool last_will_set(struct last_will *will, unsigned index, const void *frame, size_t size);
