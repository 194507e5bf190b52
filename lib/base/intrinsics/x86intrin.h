// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stands before the compiler's header of the same name in files that include headers of DPDK. These
// take the intrinsics of all extensions of x86, which a compiler parses for longer than all of DPDK
// (0.45 of 0.55 s), and use none beyond SSE 4.2 unless they are compiled for more.
#ifdef __AVX__
#include_next <x86intrin.h>
#else
#include <nmmintrin.h>
#endif
