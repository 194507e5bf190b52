// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/lhcb_profile.h"

#define N_SUBDETECTORS 32
#define EVEN_POINTS    32 // evenly spaced quantiles; the others are in the tail

// Printed by measure_profile.py.
static const struct lhcb_profile profiles[] = {
	// clang-format off
	{ "VELO", 208, 63, 2, 0.000000,
	  { 4, 4, 8, 12, 12, 16, 20, 20, 24, 24, 28, 28, 32, 36, 36, 40, 40, 44, 48, 52, 56, 60,
	    68, 72, 80, 88, 96, 104, 112, 124, 144, 164, 192, 216, 240, 252, 316 } },
	{ "RICH", 350, 9, 3, 0.154000,
	  { 4, 4, 4, 4, 4, 8, 8, 8, 12, 12, 16, 16, 20, 20, 24, 28, 32, 36, 40, 44, 48, 56, 60, 68,
	    80, 92, 108, 124, 148, 184, 240, 344, 536, 680, 808, 996, 1312 } },
	{ "UT", 180, 66, 3, 0.000000,
	  { 4, 4, 4, 10, 10, 10, 11, 12, 12, 13, 14, 18, 19, 20, 21, 22, 24, 27, 29, 30, 32, 36,
	    38, 43, 46, 51, 56, 62, 71, 84, 102, 137, 172, 194, 234, 255, 350 } },
	{ "SCIFI", 240, 64, 5, 0.000000,
	  { 4, 12, 12, 16, 16, 16, 20, 20, 20, 24, 24, 24, 24, 28, 28, 28, 32, 32, 36, 36, 40, 40,
	    44, 48, 52, 56, 60, 64, 72, 80, 92, 112, 128, 144, 164, 164, 184 } },
	{ "ECAL", 28, 21, 2, 0.000000,
	  { 172, 196, 200, 216, 224, 228, 232, 240, 248, 256, 260, 264, 268, 276, 276, 280, 284,
	    288, 292, 296, 296, 304, 312, 316, 328, 336, 344, 348, 364, 376, 384, 420, 444, 448,
	    460, 460, 468 } },
	{ "HCAL", 8, 22, 2, 0.000000,
	  { 144, 144, 148, 156, 164, 168, 180, 184, 192, 196, 200, 204, 212, 220, 232, 244, 248,
	    252, 256, 260, 272, 280, 288, 304, 320, 344, 348, 352, 356, 360, 384, 404, 416, 416,
	    440, 440, 440 } },
	{ "MUON", 10, 13, 2, 0.000000,
	  { 12, 20, 24, 24, 24, 32, 32, 40, 44, 48, 48, 56, 56, 60, 72, 76, 84, 88, 96, 100, 104,
	    124, 132, 136, 144, 156, 160, 180, 192, 248, 316, 368, 372, 568, 584, 584, 584 } },
	{ "other", 0, 51, 0, 0.052637,
	  { 4, 4, 8, 8, 11, 12, 12, 16, 18, 20, 20, 24, 24, 28, 28, 32, 32, 36, 40, 44, 48, 52, 56,
	    63, 70, 79, 88, 104, 120, 148, 204, 288, 352, 424, 592, 712, 1312 } },
	// clang-format on
};

enum { VELO, RICH, UT, SCIFI, ECAL, HCAL, MUON, OTHER };

static const uint8_t profile_of[N_SUBDETECTORS] = {
	OTHER, OTHER, VELO,  VELO,  RICH,  UT,    UT,    SCIFI, SCIFI, RICH,  OTHER,
	ECAL,  HCAL,  MUON,  MUON,  OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER,
	OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER,
};

const struct lhcb_profile *lhcb_profile(unsigned subdetector)
{
	return &profiles[subdetector < N_SUBDETECTORS ? profile_of[subdetector] : OTHER];
}

static double point_probability(unsigned point)
{
	if (point < EVEN_POINTS)
		return (double)point / EVEN_POINTS;
	if (point == LHCB_QUANTILES - 1)
		return 1;
	return 1 - 1.0 / (EVEN_POINTS << (point - EVEN_POINTS + 1));
}

uint16_t lhcb_profile_size(const struct lhcb_profile *profile, double q)
{
	double low, high, part;
	unsigned point;

	if (q < profile->empty)
		return 0;
	q = (q - profile->empty) / (1 - profile->empty);
	point = (unsigned)(q * EVEN_POINTS);
	if (point >= EVEN_POINTS - 1)
		point = EVEN_POINTS - 1;
	while (point < LHCB_QUANTILES - 2 && q >= point_probability(point + 1))
		point++;
	low = point_probability(point);
	high = point_probability(point + 1);
	part = (q - low) / (high - low);
	return (uint16_t)(0.5 + profile->sizes[point] +
			  part * (profile->sizes[point + 1] - profile->sizes[point]));
}
