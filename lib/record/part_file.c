// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/exclusive_rename.h"

// Bytes after which the kernel is requested to start writing to the disk. It keeps the sync at the
// end of a file short, during which no events are written.
#define WRITE_BACK_SIZE (16u * 1024u * 1024u)

int part_file_remove(int directory, const struct file_name *name)
{
	(void)file_name_remove(directory, name, FILE_NAME_JOURNAL); // it may be missing
	return file_name_remove(directory, name, FILE_NAME_PART);
}

// Creates and locks. -EEXIST: the number is taken.
static int create_locked(int directory, const struct file_name *name)
{
	int file = file_name_open(directory, name, FILE_NAME_PART, O_CREAT | O_EXCL | O_RDWR);
	struct stat status;

	if (file < 0)
		return file;
	// Before the lock, another process may have removed the file as a leftover.
	if (flock(file, LOCK_EX | LOCK_NB) || fstat(file, &status) || !status.st_nlink) {
		close(file);
		return -EEXIST;
	}
	if (file_name_exists(directory, name, FILE_NAME_WHOLE)) {
		(void)file_name_remove(directory, name, FILE_NAME_PART);
		close(file);
		return -EEXIST;
	}
	return file;
}

static int create_journal(int directory, const struct file_name *name)
{
	int file = file_name_open(directory, name, FILE_NAME_JOURNAL, O_CREAT | O_TRUNC | O_RDWR);
	struct journal_entry empty = { 0 };
	int error;

	if (file < 0)
		return file;
	error = journal_write(file, &empty);
	if (!error)
		return file;
	close(file);
	return error;
}

int part_file_create(struct part_file *part, int directory, struct file_name *name)
{
	int file, journal;

	while ((file = create_locked(directory, name)) == -EEXIST)
		name->sequence++;
	if (file < 0)
		return file;
	journal = create_journal(directory, name);
	if (journal < 0) {
		(void)part_file_remove(directory, name);
		close(file);
		return journal;
	}
	*part = (struct part_file){
		.name = *name,
		.directory = directory,
		.file = file,
		.journal = journal,
	};
	return 0;
}

int part_file_commit(struct part_file *part, uint64_t size, const struct event_identity *last,
		     uint64_t sync_size)
{
	struct journal_entry entry = {
		.size = size,
		.events = part->whole.events + 1,
		.last = *last,
	};
	int error;

	if (sync_size && size - part->synced >= sync_size) {
		if (fdatasync(part->file)) {
			part->sync_failed = true;
			return -errno;
		}
		part->sync_failed = false;
		part->synced = size;
	}
	error = journal_write(part->journal, &entry);
	if (error)
		return error;
	part->whole = entry;
	if (size - part->written_back >= WRITE_BACK_SIZE) {
		// A hint; if the kernel ignores it, only the later sync takes longer.
		sync_file_range(part->file, (off_t)part->written_back,
				(off_t)(size - part->written_back), SYNC_FILE_RANGE_WRITE);
		part->written_back = size;
	}
	return 0;
}

void part_file_cut(struct part_file *part)
{
	// If it fails, the next event overwrites the tail, and part_file_finish() tries again.
	if (ftruncate(part->file, (off_t)part->whole.size))
		return;
}

// The recovery then reads the file itself. A journal that cannot be removed is emptied.
static void remove_journal(int directory, const struct file_name *name)
{
	int file;

	if (!file_name_remove(directory, name, FILE_NAME_JOURNAL))
		return;
	file = file_name_open(directory, name, FILE_NAME_JOURNAL, O_WRONLY | O_TRUNC);
	if (file >= 0)
		close(file);
}

// Returns 0 or a negative errno; after an error, the file has no journal.
static int sync_whole(int directory, int file, const struct file_name *name, const char **step)
{
	int error;

	*step = "sync";
	if (!fsync(file))
		return 0;
	error = -errno;
	remove_journal(directory, name);
	return error;
}

static int rename_whole(int directory, struct file_name *name, const char **step)
{
	char part[FILE_NAME_SIZE], whole[FILE_NAME_SIZE];
	struct file_name old = *name;
	int error = 0;

	*step = "rename";
	file_name_format(&old, FILE_NAME_PART, part);
	for (;; name->sequence++) {
		file_name_format(name, FILE_NAME_WHOLE, whole);
		error = exclusive_rename(directory, part, whole);
		if (error != -EEXIST)
			break;
	}
	if (error)
		return error;
	(void)file_name_remove(directory, &old, FILE_NAME_JOURNAL);
	*step = "sync of the directory";
	return fsync(directory) ? -errno : 0;
}

int part_file_publish(int directory, int file, struct file_name *name, const char **step)
{
	int error = sync_whole(directory, file, name, step);

	return error ? error : rename_whole(directory, name, step);
}

static void close_both(struct part_file *part)
{
	close(part->journal);
	close(part->file);
	part->file = -1;
}

int part_file_finish(struct part_file *part, const char **step)
{
	int error = 0;

	*step = "truncate";
	if (ftruncate(part->file, (off_t)part->whole.size))
		error = -errno;
	if (!error) {
		error = sync_whole(part->directory, part->file, &part->name, step);
		part->sync_failed = error != 0;
	}
	if (!error)
		error = rename_whole(part->directory, &part->name, step);
	close_both(part);
	return error;
}

void part_file_leave(struct part_file *part)
{
	remove_journal(part->directory, &part->name);
	close_both(part);
}

void part_file_discard(struct part_file *part)
{
	(void)part_file_remove(part->directory, &part->name);
	close_both(part);
}
