// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The two CRCs of the formats, computed by ISA-L, which chooses the processor's fastest
// instructions at run time. Both are reflected, with all ones as start value and final complement.
//
// Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <isa-l/crc.h>

// ISA-L 2.30 leaves the upper halves of the vector registers in use. Until they are cleared, each
// SSE instruction of this thread also waits for their last results: the roles that send and receive
// over RoCE then take 20 to 45 % longer.
static inline void crc_clear_upper_halves(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper" ::
				     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
				       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
				       "xmm14", "xmm15");
#endif
}

// CRC-32 of IEEE 802.3 (polynomial 0x04C11DB7), as in Ethernet, zlib and RoCE's ICRC. Returns the
// state after `size` bytes (0 is allowed), given the state before them, which is 0xFFFFFFFF at the
// beginning of a message. The CRC of a message is the complement of the state after its last byte;
// that of "123456789" is 0xCBF43926.
static inline uint32_t crc_add(uint32_t state, const uint8_t *bytes, size_t size)
{
	state = ~crc32_gzip_refl(~state, bytes, size);
	crc_clear_upper_halves();
	return state;
}

// CRC-32C (Castagnoli, polynomial 0x1EDC6F41), as in iSCSI (RFC 3720) and SCTP. `crc` is 0, or the
// CRC of the preceding bytes. `size` is below 2 GiB. The CRC of "123456789" is 0xE3069283.
static inline uint32_t crc32c(uint32_t crc, const void *bytes, size_t size)
{
	// The library only reads the bytes, although its parameter is not const.
	crc = ~crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)size, ~crc);
	crc_clear_upper_halves();
	return crc;
}
