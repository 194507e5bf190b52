// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Work on EAL's interrupt thread, on which drivers handle what happens to a device. Some drivers do
// not expect that another thread closes a port meanwhile: with memif both free the control channel
// if the peer ends at the same moment.
#pragma once

// Calls function(argument) on EAL's interrupt thread, between two interrupts, and returns when it
// has returned. Where EAL has no memory for that, the caller's thread calls it. The function may
// wait for no other interrupt. Control thread.
void interrupt_thread_call(void (*function)(void *argument), void *argument);

// Returns when the interrupt thread knows all handlers that were added or removed before, and waits
// for interrupts. It reads the list of handlers before, of which some lie in the memory that EAL
// unmaps at its end: those that a driver left behind, as memif does. Control thread.
void interrupt_thread_settle(void);
