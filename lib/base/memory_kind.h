// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The memory that packet pools and event rings are made of.
#pragma once

enum memory_kind {
	MEMORY_AUTO,      // hugepages, if there are enough of them; else ordinary memory
	MEMORY_HUGEPAGES, // refuse to start without
	MEMORY_SHM,       // never hugepages
};
