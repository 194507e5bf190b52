// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Ends connections that are slow. libmicrohttpd's time-out counts from the last byte, so a client
// that sends a byte of its headers, or reads a byte of the response, now and then keeps its
// connection without limit. Here a connection has a time for each request, from its start or from
// the end of the request before until the response is sent. A thread looks each second.
#pragma once

struct hangup;

// Room for `most` connections, with `seconds` per request. NULL: no memory or no thread.
struct hangup *hangup_start(unsigned most, unsigned seconds);
void hangup_stop(struct hangup *hangup);

// A connection with this socket begins; the result is for the two functions below. NULL: there is
// no room. hangup_end() is called before the socket is closed. Any thread; NULL is ignored.
struct hangup_entry *hangup_begin(struct hangup *hangup, int file);
void hangup_renew(struct hangup *hangup, struct hangup_entry *entry);
void hangup_end(struct hangup *hangup, struct hangup_entry *entry);
