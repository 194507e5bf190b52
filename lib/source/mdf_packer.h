// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Events of an MDF file, packed anew as the MFPs of its sources.
//
// One source for each (bank type, bank source id, occurrence within the event) of the file. Its
// fragments are the banks' payloads, byte for byte, their type is the bank type and the MFP's
// version the bank version. In an event without such a bank the source sends a fragment of type 92
// (FragmentMissing) and size 0, so that the way back to banks is exact.
//
// With E events in the file and packing p, fragment i of the MFPs at cycle position k holds event
// (k * p + i) mod E of the file; the cycle covers the file a whole number of times, lcm(E, p) / p
// positions. Fragments are padded to 4 bytes.
//
// The sources' ids: mdf_sources.h.
#pragma once

#include "source/block_maker.h"
#include "source/mdf_events.h"

// Makes the maker for kind mdf from parameters->file. Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE].
int mdf_packer_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		    char *error);

// The same from events in memory, which belong to the maker if that succeeds.
int mdf_packer_open_events(struct block_maker **maker, struct mdf_events *events,
			   const struct source_set_parameters *parameters, char *error);
