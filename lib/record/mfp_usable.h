// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#pragma once

#include "wire/mfp.h"

// True if all fragments are empty and of type 92 (missing) or 95 (malformed). A builder puts such
// an MFP in the place of missing data; a source without data for these events may also send one.
static inline bool mfp_nothing_usable(const struct mfp *mfp)
{
	for (unsigned i = 0; i < mfp->header.n_fragments; i++) {
		uint8_t type = mfp->types[i];

		if (load_le16(mfp->sizes + 2 * (size_t)i) ||
		    (type != MFP_TYPE_FRAGMENT_MISSING && type != MFP_TYPE_FRAGMENT_MALFORMED))
			return false;
	}
	return mfp->header.n_fragments > 0;
}
