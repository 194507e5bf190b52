// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Work on EAL's interrupt thread, on which drivers handle what happens to a device. Some drivers do
// not expect that another thread closes a port meanwhile: with memif both free the control channel
// if the peer ends at the same moment.
#pragma once

// Calls function(argument) on EAL's interrupt thread, between two interrupts, and returns when it
// has returned. If EAL has no memory for that, the caller's thread calls it. The function must not
// wait for another interrupt. Control thread, never the interrupt thread itself.
void interrupt_thread_call(void (*function)(void *argument), void *argument);

// Returns when the interrupt thread has read its list of handlers, after all that were added or
// removed before the call, and waits for interrupts again. To be called before rte_eal_cleanup():
// this unmaps the handlers that a driver has left in the list, as memif does. Control thread.
void interrupt_thread_settle(void);
