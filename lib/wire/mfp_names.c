// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/mfp.h"

#define SUBDETECTOR_SHIFT 11 // bits of the number within a subdetector

static const char *const subdetectors[] = {
	[0] = "ODIN",  [2] = "VELO_A",  [3] = "VELO_C",  [4] = "RICH1",   [5] = "UT_A",
	[6] = "UT_C",  [7] = "SCIFI_A", [8] = "SCIFI_C", [9] = "RICH2",   [10] = "PLUME",
	[11] = "ECAL", [12] = "HCAL",   [13] = "MUON_A", [14] = "MUON_C", [15] = "TDET",
};

static const char *const types[] = {
	[9] = "Rich",
	[13] = "Muon",
	[MFP_TYPE_DAQ] = "DAQ",
	[MFP_TYPE_ODIN] = "ODIN",
	[MFP_TYPE_TAE_HEADER] = "TAEHeader",
	[63] = "VP",
	[64] = "FTCluster",
	[66] = "UT",
	[73] = "VPRetinaCluster",
	[77] = "Calo",
	[84] = "Plume",
	[89] = "FragmentThrottled",
	[90] = "BXIDCorrupted",
	[91] = "SyncBXIDCorrupted",
	[MFP_TYPE_FRAGMENT_MISSING] = "FragmentMissing",
	[93] = "FragmentTruncated",
	[94] = "IdleBXIDCorrupted",
	[MFP_TYPE_FRAGMENT_MALFORMED] = "FragmentMalformed",
	[96] = "EVIDJumped",
	[97] = "VeloSPPandCluster",
	[100] = "AlignFifoFull",
	[101] = "FEfragSizeWrong",
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *name_or(const char *const *names, size_t n_names, unsigned index,
			   const char *unlisted)
{
	return index < n_names && names[index] ? names[index] : unlisted;
}

const char *mfp_subdetector_name(uint16_t source_id)
{
	return name_or(subdetectors, COUNT_OF(subdetectors), source_id >> SUBDETECTOR_SHIFT,
		       "UNKNOWN");
}

const char *mfp_type_name(uint8_t type)
{
	return name_or(types, COUNT_OF(types), type, "Unknown");
}
