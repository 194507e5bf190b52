// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/pattern.h"

#define GARBAGE 0xee

static const uint16_t SLOT_SOURCES[MEP_SOURCES] = { 0x1803, 0x1001, 0x1802, 0x0000 };
static const uint16_t FILE_SOURCES[MEP_SOURCES] = { 0x0000, 0x1001, 0x1802, 0x1803 };

int make_directory(void **state)
{
	const char *base = getenv("TMPDIR");
	char *path = malloc(PATH_SIZE);

	if (!path)
		return -1;
	snprintf(path, PATH_SIZE, "%s/evb-record-XXXXXX", base ? base : "/tmp");
	*state = path;
	return mkdtemp(path) ? 0 : -1;
}

static void remove_tree(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory))) {
		char child[PATH_SIZE];

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		path_in(child, path, entry->d_name);
		if (unlink(child))
			remove_tree(child);
	}
	closedir(directory);
	rmdir(path);
}

int remove_directory(void **state)
{
	remove_tree(*state);
	free(*state);
	return 0;
}

void path_in(char path[PATH_SIZE], const char *directory, const char *name)
{
	assert_true(snprintf(path, PATH_SIZE, "%s/%s", directory, name) < (int)PATH_SIZE);
}

uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	struct stat status;
	uint8_t *bytes;

	if (!file)
		fail_msg("%s is not there", path);
	assert_int_equal(fstat(fileno(file), &status), 0);
	*size = (size_t)status.st_size;
	bytes = malloc(*size + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file;

	unlink(path); // some file systems wait for the disk when a file is truncated
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

unsigned count_files(const char *directory)
{
	DIR *listing = opendir(directory);
	unsigned n = 0;

	assert_non_null(listing);
	while (readdir(listing))
		n++;
	closedir(listing);
	return n - 2; // . and ..
}

bool file_exists(const char *directory, const char *name)
{
	char path[PATH_SIZE];

	path_in(path, directory, name);
	return !access(path, F_OK);
}

bool find_data(char path[PATH_SIZE], const char *name)
{
	const char *shared = getenv("EVB_SHARED");

	snprintf(path, PATH_SIZE, "%s/data/%s", shared ? shared : REPOSITORY "/../shared", name);
	return !access(path, R_OK);
}

size_t make_mfp(uint8_t *bytes, size_t capacity, uint64_t event_id, uint16_t source_id,
		uint16_t size)
{
	static uint8_t payloads[FRAGMENTS][65536];
	const uint8_t *pointers[FRAGMENTS];
	uint16_t sizes[FRAGMENTS];
	uint8_t types[FRAGMENTS];
	struct mfp_header header = {
		.event_id = event_id,
		.n_fragments = FRAGMENTS,
		.source_id = source_id,
		.align_log2 = 2,
		.version = 5,
	};

	for (unsigned i = 0; i < FRAGMENTS; i++) {
		types[i] = 4;
		sizes[i] = (uint16_t)(size + i);
		pointers[i] = payloads[i];
		pattern_fill(payloads[i], sizes[i],
			     pattern_seed(source_id, (uint16_t)i, (uint8_t)event_id));
	}
	assert_int_equal(mfp_encode(bytes, capacity, &header, types, sizes, pointers), WIRE_OK);
	return header.packet_size;
}

static uint16_t size_of_source(uint16_t source_id)
{
	// One source's MFPs are large enough to be written without a copy.
	return source_id == 0x1802 ? 5000 : (uint16_t)(17 + source_id % 8);
}

size_t make_slot_mep(uint8_t bytes[MEP_ROOM], uint64_t event_id)
{
	uint32_t offsets[MEP_SOURCES];
	size_t at = mep_header_size(MEP_SOURCES, MEP_DEFAULT_ALIGN);

	memset(bytes, GARBAGE, MEP_ROOM);
	for (unsigned i = 0; i < MEP_SOURCES; i++) {
		offsets[i] = (uint32_t)(at / 4);
		at += make_mfp(bytes + at, MEP_ROOM - at, event_id, SLOT_SOURCES[i],
			       size_of_source(SLOT_SOURCES[i]));
		at = round_up(at, MEP_DEFAULT_ALIGN) + GAP;
	}
	assert_int_equal(mep_encode_header(bytes, MEP_ROOM, MEP_SOURCES, SLOT_SOURCES, offsets,
					   (uint32_t)(at / 4)),
			 WIRE_OK);
	return at;
}

size_t make_mep(uint8_t *bytes, size_t capacity, unsigned n, const uint8_t *const *mfps,
		const size_t *sizes)
{
	uint16_t ids[16];
	uint32_t offsets[16];
	size_t at = mep_header_size(n, MEP_DEFAULT_ALIGN);

	assert_true(n <= 16);
	memset(bytes, 0, capacity);
	for (unsigned i = 0; i < n; i++) {
		assert_true(at + sizes[i] + MEP_DEFAULT_ALIGN <= capacity);
		ids[i] = load_le16(mfps[i] + 16);
		offsets[i] = (uint32_t)(at / 4);
		memcpy(bytes + at, mfps[i], sizes[i]);
		at = round_up(at + sizes[i], MEP_DEFAULT_ALIGN);
	}
	assert_int_equal(mep_encode_header(bytes, capacity, n, ids, offsets, (uint32_t)(at / 4)),
			 WIRE_OK);
	return at;
}

size_t make_file_mep(uint8_t bytes[MEP_ROOM], uint64_t event_id)
{
	static uint8_t mfps[MEP_SOURCES][MEP_ROOM / MEP_SOURCES];
	const uint8_t *pointers[MEP_SOURCES];
	size_t sizes[MEP_SOURCES];

	for (unsigned i = 0; i < MEP_SOURCES; i++) {
		pointers[i] = mfps[i];
		sizes[i] = make_mfp(mfps[i], sizeof(mfps[i]), event_id, FILE_SOURCES[i],
				    size_of_source(FILE_SOURCES[i]));
	}
	return make_mep(bytes, MEP_ROOM, MEP_SOURCES, pointers, sizes);
}

struct evb_event make_event(const uint8_t *mep, size_t size, uint64_t event_id)
{
	return (struct evb_event){
		.event_id = event_id,
		.data = mep,
		.length = size,
		.first_ns = 1000 + event_id,
		.complete_ns = 2000 + event_id,
		.run_number = RUN,
		.sequence = event_id,
	};
}

void note(void *context, const struct event_file_notice *notice)
{
	struct account *account = context;
	unsigned n = account->n++;

	assert_true(n < N_NOTICES);
	account->notices[n].kind = notice->kind;
	account->notices[n].bytes = notice->bytes;
	account->notices[n].events = notice->events;
	account->notices[n].cut = notice->cut;
	snprintf(account->notices[n].path, PATH_SIZE, "%s", notice->path);
	snprintf(account->notices[n].cause, EVENT_FILE_ERROR_SIZE, "%s",
		 notice->cause ? notice->cause : "");
}

struct event_file_parameters make_parameters(const char *directory, struct account *account)
{
	return (struct event_file_parameters){
		.directory = directory,
		.prefix = "t",
		.format = FILE_FORMAT_MEP,
		.notify = account ? note : NULL,
		.notify_context = account,
	};
}

struct event_file *open_files(const struct event_file_parameters *parameters)
{
	char error[EVENT_FILE_ERROR_SIZE] = "";
	struct event_file *file;
	int result = event_file_open(&file, parameters, error);

	assert_string_equal(error, "");
	assert_int_equal(result, 0);
	return file;
}

int write_event(struct event_file *file, uint64_t event_id, uint64_t now_ns)
{
	static uint8_t bytes[MEP_ROOM];
	size_t size = make_slot_mep(bytes, event_id);
	struct evb_event event = make_event(bytes, size, event_id);

	return event_file_write(file, &event, now_ns);
}

void expect_events(const char *directory, const char *name, uint64_t first, unsigned n)
{
	static uint8_t expected[MEP_ROOM];
	char path[PATH_SIZE];
	size_t size, at = 0;
	uint8_t *bytes;

	path_in(path, directory, name);
	bytes = read_file(path, &size);
	for (unsigned i = 0; i < n; i++) {
		size_t length = make_file_mep(expected, first + i);

		assert_true(at + length <= size);
		assert_memory_equal(bytes + at, expected, length);
		at += length;
	}
	assert_int_equal(at, size);
	free(bytes);
}

struct evring *make_ring(const char *directory)
{
	static const char *const GROUPS[] = { "main" };
	const struct evring_parameters parameters = {
		.name = RING_NAME,
		.directory = directory,
		.memory = EVRING_SHM,
		.n_builders = 1,
		.run_number = RUN,
		.slots = RING_SLOTS,
		.slot_size = MEP_ROOM,
		.groups = GROUPS,
		.n_groups = 1,
	};
	char error[EVRING_ERROR_SIZE] = "";
	struct evring *ring;

	if (evring_create(&ring, &parameters, error))
		fail_msg("%s", error);
	return ring;
}

void publish(struct evring *ring, uint32_t slot, uint64_t event_id)
{
	struct evring_event event = { .event_id = event_id, .n_sources = MEP_SOURCES };

	evring_begin(ring, slot);
	event.length = make_slot_mep(evring_slot(ring, slot), event_id);
	event.first_ns = 1000 + event_id;
	event.complete_ns = 2000 + event_id;
	evring_publish(ring, slot, &event);
}
