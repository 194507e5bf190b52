// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A guard against a race in DPDK's memif driver. When the peer of a memif ends or dies, the driver
// unmaps the shared rings on EAL's interrupt thread, although an lcore may just be copying packets
// from or to them: the lcore then gets SIGSEGV. The driver marks the port as disconnected before
// that, so no later burst touches the rings. The guard makes the interrupt thread wait, before it
// unmaps anything, until no burst is left that began earlier. For this it replaces munmap() for the
// whole process; other threads unmap at once.
#pragma once

// Sets the function that returns when each lcore has been outside of all drivers since the call, or
// has ended. It is called by the interrupt thread. NULL: nothing is waited for. Control thread,
// while no lcore runs.
void unmap_guard_set(void (*wait)(void *context), void *context);
