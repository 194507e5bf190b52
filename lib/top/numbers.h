// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Numbers for people: three digits and a letter. NAN, an unknown number, is "-".
#pragma once

#define NUMBERS_SIZE 16

// "0", "12", "1.23k", "45.6M", "789G": at most five characters, or six where it is negative.
void numbers_count(double value, char text[NUMBERS_SIZE]);

// "12.3%", "0.01%", "100%"; only a share of 1 is 100 %, and only 0 is 0 %.
void numbers_share(double value, char text[NUMBERS_SIZE]);

// Nanoseconds: "917us", "1.57ms", "2.50s".
void numbers_time(double ns, char text[NUMBERS_SIZE]);

// Seconds: "00:12:34", "3d 04:05".
void numbers_duration(double seconds, char text[NUMBERS_SIZE]);
