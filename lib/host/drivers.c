// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// DPDK's drivers are shared objects, each of which holds a description of itself: its name, its
// device arguments, the kernel drivers that a PCI device must have for it (dpdk-pmdinfo prints it).
#include "host/stages.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <rte_config.h>

#define STAGE       "drivers"
#define DIRECTORY   RTE_EAL_PMD_PATH
#define DESCRIPTION "PMD_INFO_STRING= "

static const char *find(const uint8_t *bytes, size_t size, const char *text, size_t length)
{
	return memmem(bytes, size, text, length);
}

static void copy(char *to, size_t size, const cJSON *item)
{
	if (cJSON_IsString(item))
		snprintf(to, size, "%s", item->valuestring);
}

// Returns whether the description is of this driver.
static bool read_description(struct drivers_port *port, const char *driver, const char *text)
{
	cJSON *root = cJSON_Parse(text);
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(root, "name");
	bool is_its = cJSON_IsString(name) && strcmp(name->valuestring, driver) == 0;

	if (is_its) {
		copy(port->parameters, sizeof(port->parameters),
		     cJSON_GetObjectItemCaseSensitive(root, "params"));
		copy(port->kernel_drivers, sizeof(port->kernel_drivers),
		     cJSON_GetObjectItemCaseSensitive(root, "kmod"));
	}
	cJSON_Delete(root);
	return is_its;
}

// A driver's file contains each argument that the driver knows as a string, which may be the end of
// another string, since linkers merge strings.
static bool knows(const struct drivers_port *port, const uint8_t *bytes, size_t size,
		  const char *name)
{
	char assigned[EVB_NAME_SIZE + 1];

	snprintf(assigned, sizeof(assigned), "%s=", name);
	return strstr(port->parameters, assigned) != NULL ||
	       find(bytes, size, name, strlen(name) + 1) != NULL;
}

void drivers_scan(struct drivers_port *port, const char *driver, const struct port_settings *config,
		  const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;
	const char *at = find(bytes, size, DESCRIPTION, strlen(DESCRIPTION));

	while (at != NULL) {
		const uint8_t *text = (const uint8_t *)at + strlen(DESCRIPTION);
		size_t left = (size_t)(end - text);

		// The description ends with a zero, unless the file is damaged.
		if (memchr(text, 0, left) == NULL ||
		    read_description(port, driver, (const char *)text))
			break;
		at = find(text, left, DESCRIPTION, strlen(DESCRIPTION));
	}
	for (unsigned i = 0; i < config->n_options; i++)
		port->knows[i] = knows(port, bytes, size, config->options[i].name);
}

static void read_library(struct drivers_port *port, const struct host_system *system,
			 const char *driver, const struct port_settings *config)
{
	char path[SYSFS_PATH_SIZE];
	struct stat status;
	void *bytes;
	int file;

	if (snprintf(path, sizeof(path), "%s%s", system->root, port->library) >= (int)sizeof(path))
		return;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	port->installed = true;
	for (unsigned i = 0; i < PORT_MAX_OPTIONS; i++)
		port->knows[i] = true; // without a readable file, DPDK checks the option
	if (fstat(file, &status) == 0 && status.st_size > 0) {
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
		if (bytes != MAP_FAILED) {
			drivers_scan(port, driver, config, bytes, (size_t)status.st_size);
			munmap(bytes, (size_t)status.st_size);
		}
	}
	close(file);
}

static bool set_library(struct drivers_port *port, const struct host_system *system,
			const char *format, ...) __attribute__((format(printf, 3, 4)));

// DPDK names the folder after the version of its libraries, "pmds-23.0".
static const char *library_version(void)
{
	const char *dash = strrchr(DIRECTORY, '-');

	return dash != NULL ? dash + 1 : "";
}

// Whether the file of a driver exists; name: without "librte_" and ".so". The development package
// has a file without a version; where that package is not installed, as in a container, the version
// follows the name.
static bool set_library(struct drivers_port *port, const struct host_system *system,
			const char *format, ...)
{
	char name[2 * EVB_NAME_SIZE];
	va_list list;

	va_start(list, format);
	vsnprintf(name, sizeof(name), format, list);
	va_end(list);
	snprintf(port->library, sizeof(port->library), DIRECTORY "/librte_%s.so.%s", name,
		 library_version());
	if (sysfs_exists(system->root, "%s", port->library))
		return true;
	snprintf(port->library, sizeof(port->library), DIRECTORY "/librte_%s.so", name);
	return sysfs_exists(system->root, "%s", port->library);
}

static void read_port(struct drivers_port *port, const struct host_system *system,
		      const struct plan *plan, unsigned index)
{
	const char *driver = plan->ports[index].profile.driver;
	const char *last = strrchr(driver, '_');
	int length = (int)(last != NULL ? (size_t)(last - driver) : strlen(driver));

	port->looked = sysfs_exists(system->root, DIRECTORY);
	if (!port->looked)
		return; // DPDK is linked into the program, or lies elsewhere
	// One file may contain several drivers: net_virtio_user is in the file of net_virtio, and
	// mlx5_eth in that of net_mlx5. The last name that was tried is reported as missing.
	if (!set_library(port, system, "%.*s", length, driver) &&
	    !set_library(port, system, "net_%.*s", length, driver) &&
	    strncmp(driver, "net_", 4) == 0)
		(void)set_library(port, system, "%s", driver);
	read_library(port, system, driver, &plan->config->ports[index]);
}

void drivers_read(struct drivers_facts *facts, const struct host_system *system,
		  const struct plan *plan)
{
	*facts = (struct drivers_facts){ 0 };
	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++)
		read_port(&facts->ports[i], system, plan, i);
}

// The name of the Debian package with a driver's file: "librte-net-af-xdp23", "librte-net-mlx5-23".
static void package_name(const char *library, char *text, size_t size)
{
	const char *name = strrchr(library, '/'), *version = strrchr(DIRECTORY, '-');
	int length = (int)strcspn(name != NULL ? name + 1 : library, ".");
	unsigned number = 0;
	bool digit;

	name = name != NULL ? name + 1 : library;
	digit = length > 0 && isdigit((unsigned char)name[length - 1]);
	if (version != NULL)
		(void)sscanf(version, "-%u", &number); // 0 if the name has another form
	snprintf(text, size, "%.*s%s%u", length, name, digit ? "-" : "", number);
	for (char *c = text; *c != '\0'; c++)
		if (*c == '_')
			*c = '-';
}

static void judge_options(const struct drivers_port *port, const struct plan *plan, unsigned index,
			  struct host_report *report)
{
	const struct port_settings *config = &plan->config->ports[index];

	for (unsigned i = 0; i < config->n_options; i++) {
		struct host_finding *finding;

		if (port->knows[i])
			continue;
		finding =
		    report_add(report, HOST_FAIL, STAGE,
			       "ports[%u].options.%s: driver %s knows no such argument", index,
			       config->options[i].name, plan->ports[index].profile.driver);
		if (port->parameters[0] != '\0')
			report_remedy(finding, "it knows %.300s", port->parameters);
		else
			report_remedy(finding, "DPDK's guide of the driver lists them");
	}
}

void drivers_judge(const struct drivers_facts *facts, const struct plan *plan,
		   struct host_report *report)
{
	unsigned before = report->n_findings;
	char package[2 * EVB_NAME_SIZE];

	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++) {
		const struct drivers_port *port = &facts->ports[i];
		const char *driver = plan->ports[i].profile.driver;
		struct host_finding *finding;

		if (!port->looked)
			continue;
		if (port->installed) {
			judge_options(port, plan, i, report);
			continue;
		}
		package_name(port->library, package, sizeof(package));
		finding = report_add(report, HOST_FAIL, STAGE,
				     "port %s: DPDK's driver %s is not installed, there is no %s",
				     plan->config->ports[i].name, driver, port->library);
		report_remedy(finding, "as root: apt-get install %s", package);
	}
	if (plan != NULL && report->n_findings == before)
		report_add(report, HOST_OK, STAGE, "installed, and know the options given");
}
