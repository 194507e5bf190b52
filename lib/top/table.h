// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tables of the items of a group. columns.c states the columns, from the names of metrics; here
// the values are computed, sorted, filtered and drawn. Pure; one thread.
#pragma once

#include "top/grid.h"
#include "top/model.h"

#define TABLE_MAX_COLUMNS 16
#define TABLE_MAX_METRICS 3
#define TABLE_MAX_RULES   6
#define TABLE_MAX_BADNESS 3
#define TABLE_MAX_KEYS    (1 + TABLE_MAX_BADNESS)

// A value computed from metrics of an item. NAN where one of them is unknown.
struct table_measure {
	const char *metrics[TABLE_MAX_METRICS]; // their sum; NULL: no more
	const char *of[TABLE_MAX_METRICS];      // divided by the sum of these, where there are any
	bool rate;                              // of growths per second, instead of values
	bool complement;                        // 1 - the result
	bool behind;       // how far the result is behind the largest of the table
	double scale;      // factor of the result; 0: 1
	const char *known; // the result is unknown while this metric is 0; NULL: it is always known
	// Not 0: the time that this share of the events since the sample before did not exceed; the
	// metric is a latency
	double share;
};

enum table_show {
	TABLE_NAME,  // name of the item
	TABLE_NOTE,  // its note
	TABLE_CAUSE, // the cause of most drops
	TABLE_LINK,  // "up" or "down", by the measure
	TABLE_COUNT,
	TABLE_SHARE,
	TABLE_TIME, // ns
	TABLE_BAR,  // of two shares
};

struct table_column {
	const char *title;
	uint8_t width;    // cells, at least
	uint8_t priority; // columns with a higher number go first where there is no room
	bool flexible;    // gets the cells that are left over; one column per table
	enum table_show show;
	struct table_measure measure;
	struct table_measure second; // bars only
};

enum table_severity {
	TABLE_WELL,
	TABLE_LOOK, // worth a look
	TABLE_LOST, // something is lost
};

// The severity of items whose measure is above a limit.
struct table_rule {
	enum table_severity severity; // TABLE_WELL: no more rules
	double above;
	struct table_measure measure;
};

struct table {
	const char *name; // of its section
	char key;         // shows its section
	uint8_t rows;     // in the overview before other tables get more
	const struct table_column *columns;
	unsigned n_columns;
	struct table_rule rules[TABLE_MAX_RULES];
	// The worst items come first: by severity, then by these; none: in the appliance's order.
	struct table_measure badness[TABLE_MAX_BADNESS];
};

// The table of each group of a sample.
extern const struct table tables[SAMPLE_N_GROUPS];

// An item of the latest sample, and the same item of the sample before.
struct table_line {
	const struct sample_item *now;
	const struct sample_item *before; // NULL: unknown
	double seconds;                   // between the two
	double largest;                   // of the table, for measures that are `behind`
	enum table_severity severity;
	double keys[TABLE_MAX_KEYS]; // numbers to sort by
	const char *text;            // text to sort by, or ""
};

struct table_order {
	int column; // to sort by; -1: the worst first
	bool reverse;
	const char *filter; // what a name, note or cause must contain, in any case; "" for all
};

// Lines of a node's group, sorted and filtered, to be freed by the caller; NULL if memory ran out.
struct table_line *table_lines(const struct model_node *node, enum sample_group group,
			       const struct table_order *order, unsigned *n);

// Whether a rule of TABLE_LOST applies to an item of the group.
bool table_has_losses(const struct model_node *node, enum sample_group group);

// Draws the heading and the lines from number `first` on into rows `row` to row + height - 1.
// faded: the values are old.
void table_draw(struct grid *grid, const struct table *table, const struct table_line *lines,
		unsigned n, unsigned first, unsigned row, unsigned column, unsigned height,
		unsigned width, const struct table_order *order, bool faded);
