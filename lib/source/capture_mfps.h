// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The MFPs of a capture, for the readouts of a system, which send events one by one as they are
// granted. In captures of kind pcap they are put together from EJFAT segments, which may be out of
// order or repeated, to any port; in captures of kind roce they are whole messages.
//
// The events are those with at least one whole MFP, in the order of their ids, and the sources
// those of whole MFPs. Where an event lacks the MFP of a source, an error MFP of type
// FragmentMissing stands in its place. End-of-run MFPs are skipped. The whole capture is read.
#pragma once

#include "source/block_maker.h"

// Makes the maker for kind pcap, or for kind roce, from parameters->file. All MFPs must have
// parameters->packing fragments. Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE].
int capture_mfps_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		      char *error);
