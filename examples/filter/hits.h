// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the boards of the example's detector send. Four sources have one fragment per event:
//
//   SEGMENTS_SOURCE       track segments before the magnet, in the plane z = SEGMENT_Z, with an
//                         estimate of q/p whose resolution is 15 %
//   HITS_SOURCE + 0, 1, 2 hits of stations 1, 2, 3
//
// A fragment, little endian:
//
//   0 u16 version: 1 | 2 u16 n | 4 n records of f32
//   a segment (fragment type 120): x, y in mm, tx, ty, q/p in 1/(MeV/c)
//   a hit (fragment type 121): x, y in mm; x ascends, as boards send channels in order
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "magnet.h"

#define SEGMENTS_SOURCE 0x1001 // subdetector 2 (VELO_A), number 1
#define HITS_SOURCE     0x3801 // subdetector 7 (SCIFI_A), number 1
#define N_SOURCES       (1 + N_STATIONS)
#define SEGMENTS_TYPE   120
#define HITS_TYPE       121
#define PAYLOAD_VERSION 1
#define PAYLOAD_HEADER  4u // bytes

#define MAX_SEGMENTS 256u // more than that in one event are cut
#define MAX_HITS     1024u

struct segment {
	struct state state;
	double q_over_p; // the estimate
};

struct hits {
	double x[MAX_HITS], y[MAX_HITS]; // x ascends
	unsigned n;
};

// Everything of one event.
struct hit_event {
	struct segment segments[MAX_SEGMENTS];
	unsigned n_segments;
	struct hits stations[N_STATIONS];
};

// Inserts a hit in its place, which is the end if x ascends. Hits beyond MAX_HITS, and hits whose
// coordinates are no numbers, are ignored.
void hits_add(struct hits *hits, double x, double y);

// Reads a fragment; hits in another order are put in order. Returns 0, or -1 if its length
// contradicts its header.
int hits_read_segments(struct hit_event *event, const void *payload, size_t length);
int hits_read_station(struct hit_event *event, unsigned station, const void *payload,
		      size_t length);

// Writes a fragment; `payload` has room for what follows from n. Returns its bytes.
size_t hits_write_segments(const struct hit_event *event, uint8_t *payload);
size_t hits_write_station(const struct hit_event *event, unsigned station, uint8_t *payload);
#define MAX_PAYLOAD (PAYLOAD_HEADER + 5 * 4 * MAX_SEGMENTS + 2 * 4 * MAX_HITS)
