// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Packs the events of an MDF file into the MFPs of sources.
//
// The file has one source for each (bank type, bank source id, occurrence within the event). The
// fragments of a source are the payloads of its banks, byte for byte; the type of a fragment is the
// bank type, and the version of the MFP is the bank version. In an event without such a bank the
// source sends a fragment of type 92 (FragmentMissing) and size 0, so that the banks can be
// restored exactly.
//
// With E events in the file and packing p, fragment i of the MFPs at cycle position k holds event
// (k * p + i) mod E of the file. The cycle covers the file a whole number of times; it has
// lcm(E, p) / p positions. Fragments are padded to 4 bytes.
//
// mdf_sources.h states the ids of the sources.
#pragma once

#include "source/block_maker.h"
#include "source/mdf_events.h"
#include "source/mdf_sources.h"

// Makes the maker for kind mdf from parameters->file. Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE].
int mdf_packer_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		    char *error);

// The same from events in memory. The maker owns the events if the function succeeds; otherwise the
// caller does.
int mdf_packer_open_events(struct block_maker **maker, struct mdf_events *events,
			   const struct source_set_parameters *parameters, char *error);

// The same from the events of a part of a file, whose sources are `known`. A source that has no
// banks in the part has missing fragments. Refuses banks of rows that are not known.
int mdf_packer_open_part(struct block_maker **maker, struct mdf_events *events,
			 const struct source_set_parameters *parameters,
			 const struct mdf_known *known, char *error);

// The number of positions of the cycle.
uint64_t mdf_packer_cycle(uint64_t n_events, uint32_t packing);
