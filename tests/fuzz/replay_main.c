// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Runs a fuzz target where there is no libFuzzer: over every file of a corpus, and over mutations
// of each that are the same in every run.
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/random.h"

#define MAX_CHANGES 4u  // in one mutation
#define MAX_GROWTH  64u // bytes that one change may add

struct input {
	uint8_t *bytes;
	size_t size;
};

static uint32_t below(struct random *random, size_t n)
{
	return (uint32_t)(random_next(random) % n);
}

// Numbers at which lengths and counts break.
static uint64_t awkward_number(struct random *random)
{
	static const uint64_t numbers[] = {
		0,     1,     2,     3,          4,          7,          8,          15,
		16,    63,    64,    127,        128,        255,        256,        32767,
		32768, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, UINT64_MAX,
	};

	return numbers[below(random, sizeof(numbers) / sizeof(numbers[0]))];
}

static void write_number(struct input *input, struct random *random)
{
	const size_t width = (size_t)1 << below(random, 4);
	uint64_t number = awkward_number(random);

	if (below(random, 2))
		number = __builtin_bswap64(number) >> (64 - 8 * width);
	if (input->size >= width)
		memcpy(input->bytes + below(random, input->size - width + 1), &number, width);
}

// Shifts what is behind a place by some bytes, which keep their value or are cut out.
static void grow_or_cut(struct input *input, struct random *random)
{
	size_t at = below(random, input->size + 1), n = 1 + below(random, MAX_GROWTH);

	if (below(random, 2)) {
		memmove(input->bytes + at + n, input->bytes + at, input->size - at);
		input->size += n;
	} else if (n <= input->size - at) {
		memmove(input->bytes + at, input->bytes + at + n, input->size - at - n);
		input->size -= n;
	}
}

static void change(struct input *input, struct random *random)
{
	if (input->size == 0 || below(random, 8) == 0) {
		grow_or_cut(input, random);
		return;
	}
	switch (below(random, 4)) {
	case 0:
		input->bytes[below(random, input->size)] ^= (uint8_t)(1u << below(random, 8));
		break;
	case 1:
		input->bytes[below(random, input->size)] = (uint8_t)random_next(random);
		break;
	case 2:
		write_number(input, random);
		break;
	default:
		input->bytes[below(random, input->size)] +=
		    (uint8_t)(1 - 2 * (int)below(random, 2));
		break;
	}
}

// Calls the target with bytes in an allocation of their size.
static void call_target(const struct input *input)
{
	uint8_t *bytes = fuzz_copy(input->bytes, input->size);

	LLVMFuzzerTestOneInput(bytes, input->size);
	free(bytes);
}

static void replay_mutations(const struct input *original, unsigned n_mutations)
{
	struct input input = {
		.bytes = fuzz_allocate(original->size + MAX_CHANGES * MAX_GROWTH, 1),
	};

	for (unsigned i = 0; i < n_mutations; i++) {
		struct random random = random_fork(original->size, i);
		unsigned n_changes = 1 + below(&random, MAX_CHANGES);

		input.size = original->size;
		if (input.size > 0)
			memcpy(input.bytes, original->bytes, input.size);
		while (n_changes-- > 0)
			change(&input, &random);
		if (below(&random, 8) == 0)
			input.size = below(&random, input.size + 1);
		call_target(&input);
	}
	free(input.bytes);
}

static void replay_file(const char *path, unsigned n_mutations)
{
	struct input input = { 0 };
	struct stat status;
	FILE *file = fopen(path, "rb");

	if (!file || fstat(fileno(file), &status) != 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	input.size = (size_t)status.st_size;
	input.bytes = fuzz_allocate(input.size, 1);
	if (fread(input.bytes, 1, input.size, file) != input.size) {
		fprintf(stderr, "%s: could not be read\n", path);
		exit(EXIT_FAILURE);
	}
	fclose(file);
	call_target(&input);
	replay_mutations(&input, n_mutations);
	free(input.bytes);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_corpus(const char *directory, unsigned n_mutations)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, is_visible, alphasort);

	if (n <= 0) {
		fprintf(stderr, "%s: no corpus here\n", directory);
		exit(EXIT_FAILURE);
	}
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		replay_file(path, n_mutations);
		free(entries[i]);
	}
	free(entries);
	return n;
}

int main(int n_arguments, char **arguments)
{
	const struct input empty = { 0 };
	unsigned n_mutations;
	int n_files;

	if (n_arguments != 3) {
		fprintf(stderr, "usage: %s MUTATIONS CORPUS\n", arguments[0]);
		return EXIT_FAILURE;
	}
	n_mutations = (unsigned)strtoul(arguments[1], NULL, 10);
	call_target(&empty);
	n_files = replay_corpus(arguments[2], n_mutations);
	printf("%d files, %u mutations of each\n", n_files, n_mutations);
	return EXIT_SUCCESS;
}
