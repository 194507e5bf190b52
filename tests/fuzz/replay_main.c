// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Runs a fuzz target without libFuzzer:
//
//     replay_NAME MUTATIONS CORPUS
//
// over each file of the corpus and MUTATIONS mutations of it, the same in every run;
//
//     replay_NAME --for SECONDS SEED FINDINGS CORPUS...
//
// over mutations of the files of all corpora that depend on the seed, as many as the time allows.
// No instrumentation for coverage and no allocation of memory slow them down, so that a decoder of
// headers sees millions of inputs per second. An input on which the process ends, or which takes
// HANG_SECONDS, is written to FINDINGS followed by the seed and the number of the input.
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "last_input.h"
#include "mutate.h"

#define IN_A_ROW 256u // mutations of a file, before those of another one

struct corpus {
	struct input *inputs;
	size_t n, largest; // bytes
};

static const struct input empty = { NULL, 0 };

static void call_target(const struct input *input)
{
	uint8_t *bytes = fuzz_copy(input->bytes, input->size);

	last_input_set(bytes, input->size);
	LLVMFuzzerTestOneInput(bytes, input->size);
	fuzz_free(bytes);
}

static void add_file(struct corpus *corpus, const char *path)
{
	struct input *input;
	struct stat status;
	FILE *file = fopen(path, "rb");

	if (!file || fstat(fileno(file), &status) != 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	corpus->inputs = realloc(corpus->inputs, (corpus->n + 1) * sizeof(*corpus->inputs));
	FUZZ_CHECK(corpus->inputs);
	input = &corpus->inputs[corpus->n++];
	input->size = (size_t)status.st_size;
	input->bytes = malloc(input->size + 1);
	FUZZ_CHECK(input->bytes);
	if (fread(input->bytes, 1, input->size, file) != input->size) {
		fprintf(stderr, "%s: could not be read\n", path);
		exit(EXIT_FAILURE);
	}
	fclose(file);
	if (corpus->largest < input->size)
		corpus->largest = input->size;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void add_files(struct corpus *corpus, const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, is_visible, alphasort);

	if (n < 0) {
		perror(directory);
		exit(EXIT_FAILURE);
	}
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		add_file(corpus, path);
		free(entries[i]);
	}
	free(entries);
}

static void read_corpora(struct corpus *corpus, char **directories, int n)
{
	for (int i = 0; i < n; i++)
		add_files(corpus, directories[i]);
	if (corpus->n == 0) {
		fprintf(stderr, "%s: no corpus here\n", directories[0]);
		exit(EXIT_FAILURE);
	}
}

static void forget_corpora(struct corpus *corpus)
{
	for (size_t i = 0; i < corpus->n; i++)
		free(corpus->inputs[i].bytes);
	free(corpus->inputs);
}

static void call_mutation(struct input *memory, const struct input *of, const struct input *other,
			  struct random *random)
{
	memory->size = of->size;
	memcpy(memory->bytes, of->bytes, of->size);
	mutate(memory, other, random);
	call_target(memory);
}

static void replay(const struct corpus *corpus, struct input *memory, unsigned n_mutations)
{
	call_target(&empty);
	for (size_t i = 0; i < corpus->n; i++) {
		const struct input *input = &corpus->inputs[i];
		const struct input *other = &corpus->inputs[(i + 1) % corpus->n];

		call_target(input);
		for (unsigned j = 0; j < n_mutations; j++) {
			struct random random = random_fork(input->size, j);

			call_mutation(memory, input, other, &random);
		}
	}
	printf("%zu files, %u mutations of each\n", corpus->n, n_mutations);
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void replay_for(const struct corpus *corpus, struct input *memory, double seconds,
		       uint64_t seed)
{
	const double end = seconds_now() + seconds;
	struct random random = random_fork(seed, 0);

	for (uint64_t row = 0; row == 0 || seconds_now() < end; row++) {
		const struct input *input = &corpus->inputs[random_next(&random) % corpus->n];
		const struct input *other = &corpus->inputs[random_next(&random) % corpus->n];

		for (unsigned i = 0; i < IN_A_ROW; i++)
			call_mutation(memory, input, other, &random);
	}
}

int main(int n_arguments, char **arguments)
{
	const bool for_a_time = n_arguments >= 6 && strcmp(arguments[1], "--for") == 0;
	struct corpus corpus = { 0 };
	struct input memory;

	if (!for_a_time && n_arguments != 3) {
		fprintf(stderr,
			"usage: %s MUTATIONS CORPUS\n"
			"       %s --for SECONDS SEED FINDINGS CORPUS...\n",
			arguments[0], arguments[0]);
		return EXIT_FAILURE;
	}
	if (for_a_time)
		read_corpora(&corpus, arguments + 5, n_arguments - 5);
	else
		read_corpora(&corpus, arguments + 2, 1);
	memory.bytes = malloc(corpus.largest + MUTATE_MAX_GROWTH);
	FUZZ_CHECK(memory.bytes);
	if (for_a_time) {
		last_input_watch(arguments[4], arguments[3]);
		replay_for(&corpus, &memory, strtod(arguments[2], NULL),
			   strtoull(arguments[3], NULL, 10));
		last_input_report();
	} else {
		replay(&corpus, &memory, (unsigned)strtoul(arguments[1], NULL, 10));
	}
	free(memory.bytes);
	forget_corpora(&corpus);
	return EXIT_SUCCESS;
}
