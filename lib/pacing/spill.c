// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/spill.h"

struct spill_fill spill_fill(const struct spill *spill, double rate)
{
	double left = spill->amount - rate * spill->duration;

	return (struct spill_fill){
		.highest = left > 0 ? left : 0,
		.empty = left > 0 ? spill->amount / rate : spill->duration,
		.carried = rate * spill->period >= spill->amount,
	};
}
