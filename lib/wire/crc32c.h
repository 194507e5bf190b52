// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// CRC-32C (Castagnoli): polynomial 0x1EDC6F41, reflected 0x82F63B78, start value and final
// complement 0xFFFFFFFF, as in iSCSI (RFC 3720) and SCTP. Of the nine bytes "123456789" it is
// 0xE3069283.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The CRC of `length` bytes. `crc` is 0, or what this function returned for the bytes that precede
// them. Uses the processor's instruction where there is one.
uint32_t crc32c(uint32_t crc, const void *bytes, size_t length);

// The same by tables, on any processor.
uint32_t crc32c_table(uint32_t crc, const void *bytes, size_t length);
