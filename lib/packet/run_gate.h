// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The gate between two runs of a process that serves several: an rx role drops segments while it is
// closed. One gate per rx role. The control role orders it to open when no node sends data of the
// run before any more. The rx role opens it when it has dropped all that its queue had at that
// time, so that nothing of the run before passes.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include <rte_common.h>

struct run_gate {
	_Alignas(RTE_CACHE_LINE_SIZE) atomic_bool wanted;  // the control role: whether to be open
	_Alignas(RTE_CACHE_LINE_SIZE) atomic_bool is_open; // the rx role
};
