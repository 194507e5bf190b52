// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "producer_layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evring/evring_view.h"
#include "wire/wire.h"

bool producer_layout_plan(struct producer_header *plan, uint64_t data_size, uint32_t blocks,
			  uint32_t max_block, uint32_t n_sources, uint64_t page_size)
{
	const uint64_t table = round_up(n_sources * sizeof(uint64_t), EVRING_CACHE_LINE);

	if (data_size < PRODUCER_SMALLEST_DATA || data_size > PRODUCER_LARGEST_DATA || blocks < 2 ||
	    blocks > PRODUCER_MOST_BLOCKS || max_block == 0 ||
	    2 * producer_room_of(max_block) > data_size || n_sources == 0 ||
	    n_sources > PRODUCER_MOST_SOURCES)
		return false;
	memset(plan, 0, sizeof(*plan));
	plan->blocks = producer_descriptors(blocks);
	plan->max_block = max_block;
	plan->n_sources = n_sources;
	plan->header_size = sizeof(*plan);
	plan->last_offset =
	    round_up(sizeof(*plan) + n_sources * sizeof(uint16_t), EVRING_CACHE_LINE);
	plan->accepted_offset = plan->last_offset + table;
	plan->descriptors_offset = plan->accepted_offset + table;
	plan->marks_offset =
	    plan->descriptors_offset + plan->blocks * sizeof(struct producer_descriptor);
	plan->data_offset =
	    round_up(plan->marks_offset + plan->blocks * sizeof(uint32_t), page_size);
	plan->data_size = round_up(data_size, page_size);
	plan->file_size = plan->data_offset + plan->data_size;
	return true;
}

int producer_layout_check(const struct producer_header *header, uint64_t file_size, char *error)
{
	struct producer_header plan;

	if (file_size < sizeof(*header) || header->magic != PRODUCER_MAGIC)
		return evring_error(-EPROTO, error, "is no producer ring");
	if (header->layout_version != PRODUCER_LAYOUT_VERSION)
		return evring_error(-EPROTO, error, "has layout version %u, this library has %u",
				    header->layout_version, PRODUCER_LAYOUT_VERSION);
	// The page size is not known here: the smallest one gives the smallest offset of the data.
	if (!producer_layout_plan(&plan, header->data_size, header->blocks, header->max_block,
				  header->n_sources, PRODUCER_SMALLEST_DATA) ||
	    header->header_size != plan.header_size || header->blocks != plan.blocks ||
	    header->last_offset != plan.last_offset ||
	    header->accepted_offset != plan.accepted_offset ||
	    header->descriptors_offset != plan.descriptors_offset ||
	    header->marks_offset != plan.marks_offset || header->data_size != plan.data_size ||
	    header->data_offset < plan.data_offset || header->data_offset > file_size ||
	    header->data_offset % PRODUCER_ALIGNMENT != 0 ||
	    header->data_size > file_size - header->data_offset || header->file_size != file_size ||
	    header->packing > UINT16_MAX || memchr(header->name, 0, sizeof(header->name)) == NULL)
		return evring_error(-EPROTO, error,
				    "has sizes in its header that contradict each other");
	return 0;
}

void producer_view_set(struct producer_view *view, int file, void *memory,
		       const struct producer_header *header)
{
	uint8_t *bytes = memory;

	*view = (struct producer_view){
		.file = file,
		.memory = memory,
		.file_size = header->file_size,
		.header = memory,
		.source_ids = (const uint16_t *)(const void *)(bytes + sizeof(*header)),
		.last = (_Atomic uint64_t *)(void *)(bytes + header->last_offset),
		.accepted = (_Atomic uint64_t *)(void *)(bytes + header->accepted_offset),
		.descriptors =
		    (struct producer_descriptor *)(void *)(bytes + header->descriptors_offset),
		.marks = (_Atomic uint32_t *)(void *)(bytes + header->marks_offset),
		.data = bytes + header->data_offset,
		.data_size = header->data_size,
		.n_blocks = header->blocks,
		.max_block = header->max_block,
		.n_sources = header->n_sources,
		.packing = header->packing,
	};
}

int producer_view_map(struct producer_view *view, int file, const struct producer_header *header)
{
	void *memory = mmap(NULL, header->file_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (memory == MAP_FAILED)
		return -errno;
	// All pages exist: this fills the page tables ahead of the first use. Without it, the first
	// use of each page does.
	(void)madvise(memory, header->file_size, MADV_POPULATE_WRITE);
	producer_view_set(view, file, memory, header);
	return 0;
}

void producer_view_unmap(struct producer_view *view)
{
	if (view->memory == NULL)
		return;
	munmap(view->memory, view->file_size);
	close(view->file);
	memset(view, 0, sizeof(*view));
}

bool producer_path(char path[PRODUCER_PATH_SIZE], const char *place, const char *ring, bool is_new)
{
	return snprintf(path, PRODUCER_PATH_SIZE, "%s/" PRODUCER_FILE_PREFIX "%s%s", place, ring,
			is_new ? EVRING_NEW_SUFFIX : "") < (int)PRODUCER_PATH_SIZE;
}

// The number of blocks that are committed and not released. It and the result of producer_used()
// are hints within their ranges: the fields are read one after the other while both sides change
// them, and the producer may have written anything.
static uint64_t blocks_in_use(const struct producer_view *view, uint64_t *released)
{
	uint64_t head;

	*released = atomic_load_explicit(&view->header->released, memory_order_acquire);
	head = atomic_load_explicit(&view->header->head, memory_order_acquire);
	return head - *released < view->n_blocks ? head - *released : view->n_blocks;
}

uint64_t producer_used(const struct producer_view *view)
{
	struct producer_descriptor_copy first, last;
	uint64_t released, used, end;
	const uint64_t n = blocks_in_use(view, &released);

	if (n == 0 || n == view->n_blocks)
		return n == 0 ? 0 : view->data_size;
	first = producer_descriptor_read(view, released);
	last = producer_descriptor_read(view, released + n - 1);
	if (first.offset >= view->data_size || last.offset >= view->data_size)
		return view->data_size;
	end = last.offset + producer_room_of(last.length);
	used = first.offset < end ? end - first.offset : view->data_size - first.offset + end;
	return used < view->data_size ? used : view->data_size;
}

unsigned producer_fill(const struct producer_view *view)
{
	const uint64_t bytes = producer_used(view) * 1000 / view->data_size;
	uint64_t released, blocks;

	blocks = blocks_in_use(view, &released) * 1000 / (view->n_blocks - 1);
	if (blocks >= 1000)
		return 1000;
	return (unsigned)(bytes > blocks ? bytes : blocks);
}
