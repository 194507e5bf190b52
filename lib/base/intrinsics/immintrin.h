// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// As x86intrin.h beside it. DPDK's headers include this one for transactions, and when clang
// compiles them.
#ifdef __AVX__
#include_next <immintrin.h>
#else
#include <nmmintrin.h>
#ifndef __clang__
#include <x86gprintrin.h>
#endif
#endif
