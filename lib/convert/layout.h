// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The layout of HDF5 files of built events, version 1:
//
//   data                  u8[bytes]: the .mep or .mdf file, byte for byte
//   events/COLUMN         one row per MEP or MDF record, in the order of the file
//   blocks/COLUMN         one row per MFP; only of MEPs
//   fragments/COLUMN      one row per fragment or bank, in the order of the file
//
// All datasets have one dimension, are little endian, and are stored in chunks of at most 1 MiB,
// the default size of HDF5's cache. An offset is that of a byte of `data`. The rows of a group are
// in ascending order of offset; those of an event, and of a block, are consecutive.
//
// docs/files.md lists the columns and the attributes of the root group. An HDF5 dataset per
// fragment, as DUNE has it, takes HDF5 some 20 us each: a hundred times what the fragment takes
// here.
#pragma once

#include <stdint.h>

#define LAYOUT_VERSION      1u
#define LAYOUT_CHUNK        (UINT64_C(1) << 20) // bytes of `data`
#define LAYOUT_VERSION_NAME "evb_layout"        // attribute u32: LAYOUT_VERSION
#define LAYOUT_FORMAT_NAME  "format"            // attribute, text: "mep" or "mdf"
#define LAYOUT_DATA_NAME    "data"
