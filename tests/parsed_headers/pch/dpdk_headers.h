// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Headers that take a compiler long to parse, for the builds with sanitizers.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// DPDK expands each copy to a switch over 15 loops. With the sanitizers' checks a file with two
// copies is compiled for 16 s. memcpy() does the same, and the sanitizers check what it is given.
#define _RTE_MEMCPY_X86_64_H_
#define rte_memcpy memcpy

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
