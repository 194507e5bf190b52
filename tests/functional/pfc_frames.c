// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// For test_pfc_frames.py: pause frames from and to text, a frame a line, from input to output. A
// line is a letter and numbers in hexadecimal:
//
//   e pfc|pause PRIORITIES QUANTA0 .. QUANTA7    -> the frame's bytes
//   d BYTES                                      -> as behind `e`, or the reason for which not
#include <stdio.h>
#include <string.h>

#include "wire/pfc.h"

#define LINE_SIZE 1024

static void encode(const char *text)
{
	struct pfc_frame frame = { .source = { { 2, 0, 0, 0, 0, 1 } } };
	uint8_t bytes[PFC_FRAME_SIZE];
	char kind[8] = "";
	unsigned number;
	int used = 0;

	if (sscanf(text, "%7s %x%n", kind, &number, &used) != 2)
		return;
	frame.is_pause = strcmp(kind, "pause") == 0;
	frame.priorities = (uint8_t)number;
	for (unsigned i = 0; i < PFC_PRIORITIES; i++) {
		text += used;
		if (sscanf(text, "%x%n", &number, &used) != 1)
			return;
		frame.quanta[i] = (uint16_t)number;
	}
	pfc_encode(bytes, &frame);
	for (unsigned i = 0; i < sizeof(bytes); i++)
		printf("%02x", bytes[i]);
	printf("\n");
}

static void decode(const char *text)
{
	uint8_t bytes[LINE_SIZE];
	struct pfc_frame frame;
	enum wire_error error;
	unsigned number;
	size_t size = 0;

	for (; size < sizeof(bytes) && sscanf(text, "%2x", &number) == 1; text += 2)
		bytes[size++] = (uint8_t)number;
	error = pfc_decode(bytes, size, NULL, &frame);
	if (error != WIRE_OK) {
		printf("%s\n", wire_reason(error));
		return;
	}
	printf("%s %x", frame.is_pause ? "pause" : "pfc", frame.priorities);
	for (unsigned i = 0; i < PFC_PRIORITIES; i++)
		printf(" %x", frame.quanta[i]);
	printf("\n");
}

int main(void)
{
	char line[LINE_SIZE];

	while (fgets(line, sizeof(line), stdin) != NULL)
		if (line[0] == 'e')
			encode(line + 1);
		else if (line[0] == 'd')
			decode(line + 1 + strspn(line + 1, " "));
	return 0;
}
