// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/part_file.h"
#include "wire/mdf.h"
#include "wire/mep.h"

static size_t whole_mep(const uint8_t *bytes, size_t size, uint64_t *scratch)
{
	struct mep mep;

	return mep_decode(bytes, size, &mep) || mep_check(&mep, scratch) ? 0 : mep.size;
}

static size_t whole_record(const uint8_t *bytes, size_t size)
{
	struct mdf_header header;

	return mdf_decode(bytes, size, &header) || mdf_verify(bytes, &header) ? 0 : header.size;
}

int recovery_whole_prefix(const uint8_t *bytes, uint64_t size, enum file_format format,
			  uint64_t *whole)
{
	uint64_t *scratch = malloc(MEP_MAX_MFPS * sizeof(*scratch));
	size_t step;

	*whole = 0;
	if (!scratch)
		return -ENOMEM;
	do {
		step = format == FILE_FORMAT_MEP ? whole_mep(bytes + *whole, size - *whole, scratch)
						 : whole_record(bytes + *whole, size - *whole);
		*whole += step;
	} while (step);
	free(scratch);
	return 0;
}

static int scan(int file, uint64_t size, enum file_format format, uint64_t *whole)
{
	void *bytes;
	int error;

	*whole = 0;
	if (!size)
		return 0;
	// After a failed sync the kernel may have pages that the disk lacks.
	(void)fdatasync(file);
	(void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	error = recovery_whole_prefix(bytes, size, format, whole);
	munmap(bytes, size);
	return error;
}

static bool read_journal(int directory, const struct file_name *name, struct journal_entry *entry)
{
	int file = file_name_open(directory, name, FILE_NAME_JOURNAL, O_RDONLY);
	bool good;

	if (file < 0)
		return false;
	good = journal_read(file, entry);
	close(file);
	return good;
}

// Opens and locks a leftover. -EWOULDBLOCK: a living process has locked it, or it no longer exists.
static int open_leftover(int directory, const char *part, struct stat *status)
{
	struct stat named;
	int file = openat(directory, part, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (file < 0)
		return errno == ENOENT ? -EWOULDBLOCK : -errno;
	if (flock(file, LOCK_EX | LOCK_NB) || fstat(file, status) ||
	    fstatat(directory, part, &named, AT_SYMLINK_NOFOLLOW) ||
	    named.st_ino != status->st_ino) {
		close(file);
		return -EWOULDBLOCK;
	}
	return file;
}

static int recover_locked(int directory, int file, uint64_t size, struct recovered *recovered)
{
	struct journal_entry entry;
	int error = 0;

	recovered->step = "check";
	if (read_journal(directory, &recovered->name, &entry) && entry.size <= size) {
		recovered->size = entry.size;
		recovered->in_doubt = entry.events > 0;
		recovered->last = entry.last;
	} else {
		error = scan(file, size, recovered->name.format, &recovered->size);
	}
	if (error)
		return error;
	recovered->cut = size - recovered->size;
	if (!recovered->size) {
		recovered->step = "remove";
		return part_file_remove(directory, &recovered->name);
	}
	recovered->step = "truncate";
	if (recovered->cut && ftruncate(file, (off_t)recovered->size))
		return -errno;
	return part_file_publish(directory, file, &recovered->name, &recovered->step);
}

// Returns false if the file is no leftover, and nothing was done.
static bool recover(int directory, struct recovered *recovered)
{
	char part[FILE_NAME_SIZE];
	struct stat status;
	int file;

	file_name_format(&recovered->name, FILE_NAME_PART, part);
	file = open_leftover(directory, part, &status);
	if (file == -EWOULDBLOCK)
		return false;
	recovered->step = "open";
	recovered->error =
	    file < 0 ? file : recover_locked(directory, file, (uint64_t)status.st_size, recovered);
	if (file >= 0)
		close(file);
	return true;
}

// Removes a journal without its part file: the writer was killed after it renamed the file.
static void remove_orphan(int directory, const struct file_name *name)
{
	if (!file_name_exists(directory, name, FILE_NAME_PART))
		(void)file_name_remove(directory, name,
				       FILE_NAME_JOURNAL); // its writer may be faster
}

// What recovery_run() passes through file_name_list().
struct run {
	int directory;
	void (*found)(void *context, const struct recovered *recovered);
	void *context;
};

static void visit(void *context, const struct file_name *name, enum file_name_stage stage)
{
	const struct run *run = context;
	struct recovered recovered = { .name = *name };

	if (stage == FILE_NAME_JOURNAL)
		remove_orphan(run->directory, name);
	else if (stage == FILE_NAME_PART && recover(run->directory, &recovered))
		run->found(run->context, &recovered);
}

int recovery_run(int directory, const char *prefix,
		 void (*found)(void *context, const struct recovered *recovered), void *context)
{
	struct run run = { directory, found, context };

	return file_name_list(directory, prefix, visit, &run);
}
