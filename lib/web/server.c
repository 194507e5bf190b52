// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "web/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <microhttpd.h>

#include "client/stat_client.h"
#include "web/hangup.h"
#include "web/page.h"

#define THREADS          2u
#define MOST_CONNECTIONS 64u
#define MOST_OF_ADDRESS  16u // connections; a browser opens up to 6
#define MOST_IDLE_S      15u
#define MOST_REQUEST_S   15u
#define CONNECTION_BYTES 32768u // for request and headers

#define API_NODES "/api/nodes"

#define TYPE_TEXT "text/plain; charset=utf-8"
#define TYPE_JSON "application/json"
#define TYPE_HTML "text/html; charset=utf-8"

struct web_server {
	struct MHD_Daemon *daemon;
	struct sampler *sampler;
	struct hangup *hangup;
	bool loopback;
	char address[WEB_ADDRESS_SIZE];
};

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
	(void)MHD_add_response_header(response, name, value); // fails only if memory runs out
}

// Takes ownership of the response. NULL: memory ran out, and the connection is closed.
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
				     const char *type, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	add_header(response, MHD_HTTP_HEADER_CONTENT_SECURITY_POLICY,
		   strcmp(type, TYPE_HTML) == 0 ? web_page_policy : "default-src 'none'");
	add_header(response, MHD_HTTP_HEADER_X_CONTENT_TYPE_OPTIONS, "nosniff");
	add_header(response, MHD_HTTP_HEADER_X_FRAME_OPTIONS, "DENY");
	add_header(response, "Referrer-Policy", "no-referrer");
	add_header(response, MHD_HTTP_HEADER_CROSS_ORIGIN_RESOURCE_POLICY, "same-origin");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_constant(struct MHD_Connection *connection, unsigned status,
				     const char *type, const char *text, size_t size)
{
	// The cast removes const: libmicrohttpd only reads persistent memory.
	return send_response(
	    connection, status, type,
	    MHD_create_response_from_buffer(size, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result send_line(struct MHD_Connection *connection, unsigned status,
				 const char *line)
{
	return send_constant(connection, status, TYPE_TEXT, line, strlen(line));
}

// Takes ownership of the text; NULL is sent as 404.
static enum MHD_Result send_text(struct MHD_Connection *connection, const char *type, char *text,
				 size_t size)
{
	struct MHD_Response *response;

	if (text == NULL)
		return send_line(connection, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
	response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	if (response == NULL)
		free(text);
	return send_response(connection, MHD_HTTP_OK, type, response);
}

static enum MHD_Result send_json(struct MHD_Connection *connection, char *text)
{
	return send_text(connection, TYPE_JSON, text, text != NULL ? strlen(text) : 0);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result send_metrics(const struct web_server *server,
				    struct MHD_Connection *connection)
{
	const char *accept = header(connection, MHD_HTTP_HEADER_ACCEPT);
	enum openmetrics_format format =
	    accept != NULL && strstr(accept, "application/openmetrics-text") != NULL
		? OPENMETRICS_1_0
		: OPENMETRICS_TEXT_0_0_4;
	size_t size = 0;
	char *text = api_metrics(server->sampler, format, &size);

	return send_text(connection, openmetrics_media_type(format), text, size);
}

// path: NAME or NAME/PART.
static enum MHD_Result send_node(const struct web_server *server, struct MHD_Connection *connection,
				 const char *path)
{
	const char *since = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "since");
	const char *slash = strchr(path, '/');
	size_t length = slash != NULL ? (size_t)(slash - path) : strlen(path);
	char name[STAT_CLIENT_NAME_SIZE];

	if (length >= sizeof(name))
		return send_json(connection, NULL);
	memcpy(name, path, length);
	name[length] = '\0';
	if (slash == NULL)
		return send_json(connection, api_node(server->sampler, name));
	if (strcmp(slash, "/history") == 0)
		return send_json(connection, api_history(server->sampler, name,
							 since != NULL ? strtod(since, NULL) : 0));
	return send_json(connection, api_part(server->sampler, name, slash + 1));
}

static enum MHD_Result route(const struct web_server *server, struct MHD_Connection *connection,
			     const char *url)
{
	if (strcmp(url, "/") == 0)
		return send_constant(connection, MHD_HTTP_OK, TYPE_HTML, web_page, web_page_size);
	if (strcmp(url, "/metrics") == 0)
		return send_metrics(server, connection);
	if (strcmp(url, API_NODES) == 0)
		return send_json(connection, api_nodes(server->sampler));
	if (strncmp(url, API_NODES "/", strlen(API_NODES "/")) == 0)
		return send_node(server, connection, url + strlen(API_NODES "/"));
	return send_json(connection, NULL);
}

// Whether the Host of a request is "localhost" or an IP address.
static bool is_own_host(const char *host)
{
	struct in6_addr address;
	char name[WEB_ADDRESS_SIZE];
	size_t length = strlen(host);
	const char *colon;

	if (host[0] == '[') {
		host++;
		length = strcspn(host, "]");
	} else if ((colon = strrchr(host, ':')) != NULL) {
		length = (size_t)(colon - host);
	}
	if (length >= sizeof(name))
		return false;
	memcpy(name, host, length);
	name[length] = '\0';
	return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &address) == 1 ||
	       inet_pton(AF_INET6, name, &address) == 1;
}

// libmicrohttpd calls this function for the head of a request, and again for the complete request.
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *body_size, void **state)
{
	static char seen;
	const struct web_server *server = context;
	const char *host = header(connection, MHD_HTTP_HEADER_HOST);

	(void)version;
	(void)body;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return send_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
	if (*body_size > 0 || header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL)
		return send_line(connection, MHD_HTTP_BAD_REQUEST, "no bodies here\n");
	if (server->loopback && host != NULL && !is_own_host(host))
		return send_line(connection, MHD_HTTP_FORBIDDEN,
				 "on a loopback address, ask localhost or an IP address\n");
	if (*state == NULL) {
		*state = &seen;
		return MHD_YES;
	}
	return route(server, connection, url);
}

// libmicrohttpd calls this function when a connection has begun and before its socket is closed.
static void on_connection(void *context, struct MHD_Connection *connection, void **entry,
			  enum MHD_ConnectionNotificationCode what)
{
	const struct web_server *server = context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*entry = hangup_begin(
		    server->hangup,
		    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
			->connect_fd);
	else
		hangup_end(server->hangup, *entry);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode why)
{
	const struct web_server *server = context;

	(void)state;
	(void)why;
	hangup_renew(server->hangup,
		     MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			 ->socket_context);
}

static const struct in6_addr *ipv6_of(const struct sockaddr_storage *address)
{
	return &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

static const struct in_addr *ipv4_of(const struct sockaddr_storage *address)
{
	return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(ipv6_of(address))
					      : ntohl(ipv4_of(address)->s_addr) >> 24 == 127;
}

static void print_address(char text[WEB_ADDRESS_SIZE], const struct sockaddr_storage *address)
{
	const bool ipv6 = address->ss_family == AF_INET6;
	char host[INET6_ADDRSTRLEN] = "";

	inet_ntop(address->ss_family, ipv6 ? (const void *)ipv6_of(address) : ipv4_of(address),
		  host, sizeof(host));
	// The port is at the same place in the addresses of both families.
	snprintf(text, WEB_ADDRESS_SIZE, ipv6 ? "[%s]:%u" : "%s:%u", host,
		 ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port));
}

// A socket that listens, and in *bound its address with the port that it got. Returns -1 on
// failure, with errno: libmicrohttpd 1.0 would make the socket too, but loses the reason of a
// failure.
static int open_socket(const struct sockaddr_storage *address, struct sockaddr_storage *bound)
{
	const int on = 1;
	const bool ipv6 = address->ss_family == AF_INET6;
	const int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t size = ipv6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	int reason;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (!ipv6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
	    bind(fd, (const struct sockaddr *)address, size) == 0 && listen(fd, SOMAXCONN) == 0 &&
	    getsockname(fd, (struct sockaddr *)bound, &size) == 0)
		return fd;
	reason = errno;
	close(fd);
	errno = reason;
	return -1;
}

struct web_server *web_server_start(const struct sockaddr_storage *address, struct sampler *sampler,
				    char *error)
{
	// Not epoll: with it, libmicrohttpd 0.9.75 stops serving for a while after more connections
	// than the limit were waiting.
	unsigned flags = MHD_USE_POLL_INTERNAL_THREAD |
			 (address->ss_family == AF_INET6 ? (unsigned)MHD_USE_IPv6 : 0);
	struct web_server *server = calloc(1, sizeof(*server));
	struct sockaddr_storage bound = *address;
	int fd = -1;

	if (server == NULL) {
		snprintf(error, WEB_ERROR_SIZE, "no memory");
		return NULL;
	}
	server->sampler = sampler;
	server->loopback = is_loopback(address);
	server->hangup = hangup_start(MOST_CONNECTIONS, MOST_REQUEST_S);
	if (server->hangup != NULL)
		fd = open_socket(address, &bound);
	print_address(server->address, &bound);
	// The socket is closed with the daemon, and by some versions if the start fails.
	if (fd >= 0)
		server->daemon = MHD_start_daemon(
		    flags, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
		    MHD_OPTION_CONNECTION_LIMIT, MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
		    MOST_IDLE_S, MHD_OPTION_PER_IP_CONNECTION_LIMIT, MOST_OF_ADDRESS,
		    MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
		    MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
		    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		    MHD_OPTION_THREAD_POOL_SIZE, THREADS, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		    MHD_OPTION_END);
	if (server->daemon == NULL) {
		snprintf(error, WEB_ERROR_SIZE,
			 "cannot listen at %s: %s; choose another address or port with --listen",
			 server->address, strerror(errno));
		hangup_stop(server->hangup);
		free(server);
		return NULL;
	}
	return server;
}

void web_server_stop(struct web_server *server)
{
	if (server == NULL)
		return;
	MHD_stop_daemon(server->daemon);
	hangup_stop(server->hangup);
	free(server);
}

const char *web_server_address(const struct web_server *server)
{
	return server->address;
}
