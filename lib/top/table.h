// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Tables of the things of a group: which columns there are, what stands in them, how bad a thing
// is off, sorting, filtering and drawing. Pure.
#pragma once

#include "top/grid.h"
#include "top/model.h"

#define TABLE_MOST_COLUMNS 16

// A thing at a moment, and what it is compared with.
struct table_line {
	const struct model_node *node;
	const struct sample_item *now;
	const struct sample_item *before; // NULL: not known
	double seconds;                   // between the two
	double leader;                    // sources: blocks of the one that is furthest ahead
	unsigned severity;                // 0: well, 1: worth a look, 2: something is lost
};

enum table_kind {
	TABLE_TEXT,
	TABLE_COUNT,
	TABLE_SHARE,
	TABLE_TIME,
	TABLE_BAR, // of `value` and `second`
};

struct table_column {
	const char *title;
	uint8_t width;    // at least
	bool flexible;    // it takes what is left; one of a table
	uint8_t priority; // those with a higher number go first where there is no room
	enum table_kind kind;
	double (*value)(const struct table_line *line);
	double (*second)(const struct table_line *line); // bars only
	const char *(*text)(const struct table_line *line);
};

struct table {
	const char *title;
	const struct table_column *columns;
	unsigned n_columns;
	unsigned (*severity)(const struct table_line *line);
	double (*badness)(const struct table_line *line); // the worst first; NULL: as they come
	double (*leader)(const struct table_line *lines, unsigned n);
};

// Of each group of a sample.
extern const struct table tables[SAMPLE_N_GROUPS];

struct table_order {
	int column; // that is sorted by; -1: the worst first
	bool reverse;
	const char *filter; // what a name or note must contain, upper or lower case; "" for all
};

// Lines of a node's group, sorted and filtered; to be freed by the caller. NULL if there are none,
// or memory ran out. *n: how many.
struct table_line *table_lines(const struct table *table, const struct model_node *node,
			       enum sample_group group, const struct table_order *order,
			       unsigned *n);

// The worst of a node's group.
unsigned table_severity(const struct table *table, const struct model_node *node,
			enum sample_group group);

// Draws heading and lines from number `first` on into rows `row` to row + height - 1. faded: what
// is told is old.
void table_draw(struct grid *grid, const struct table *table, const struct table_line *lines,
		unsigned n, unsigned first, unsigned row, unsigned column, unsigned height,
		unsigned width, const struct table_order *order, bool faded);

// Growth a second of a field; NAN: unknown.
double table_rate(const struct table_line *line, unsigned field);
double table_value(const struct table_line *line, unsigned field);
