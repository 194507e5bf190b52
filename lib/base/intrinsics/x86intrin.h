// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stands before the compiler's header of the same name in files that include headers of DPDK. These
// take the intrinsics of all extensions of x86, which a compiler parses for longer than all of DPDK
// (0.45 of 0.55 s), and use none beyond SSE 4.2 and general registers unless they are compiled for
// more. What is for general registers (24.11 takes __rdtsc() and _xbegin()) gcc has in a header of
// its own. meson.build leaves this folder out where clang, which has not, compiles such a release.
#ifdef __AVX__
#include_next <x86intrin.h>
#else
#include <nmmintrin.h>
#ifndef __clang__
#include <x86gprintrin.h>
#endif
#endif
