// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What describes a generator, the stand-in for readout boards: the kind of its data, the law of its
// fragment sizes, and the faults that it makes on demand. The configuration, the source sets and
// the senders share these types.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SOURCE_ERROR_SIZE  512  // bytes of an error message with the closing 0
#define FAULTS_MAX_REORDER 1024 // segments that a generator shuffles over

enum generator_kind {
	GENERATOR_SYNTHETIC,  // fragments of drawn sizes, filled with a pattern
	GENERATOR_MDF,        // events of an MDF file, packed into MFPs
	GENERATOR_MFP,        // MFPs of an .mfp file
	GENERATOR_PCAP,       // packets of a capture file
	GENERATOR_ROCE,       // messages of a capture of RoCE
	GENERATOR_PRODUCER,   // blocks of another process
	GENERATOR_EVENT_RING, // built events of another appliance
	GENERATOR_PORT,       // blocks of boards that send to a port
};

enum size_law {
	SIZE_FIXED,
	SIZE_GAUSSIAN,
	SIZE_LHCB, // measured profile of each subdetector
};

// Sizes of synthetic fragments, in bytes.
struct fragment_sizes {
	enum size_law law;
	uint32_t mean;    // of laws fixed and gaussian
	uint32_t sigma;   // of law gaussian
	uint32_t maximum; // of law gaussian
	double outliers;  // share of fragments of another size, of any law
	uint32_t outlier; // that size
};

// Faults on demand. Each ratio is a probability per segment, 0 to 1.
struct faults {
	double loss;
	double duplicate;
	double corrupt;          // one bit of the payload is changed
	uint32_t reorder_window; // segments are shuffled over this many; 0 or 1: none
	bool has_silent_source;
	uint16_t silent_source; // source id that never sends
	bool has_late_source;
	uint16_t late_source; // source id that sends late_delay_ns after the others
	uint64_t late_delay_ns;
};
