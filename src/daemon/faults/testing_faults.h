/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs commands of `ruse fault` on a host page of the test: for test-faults.c and test-fault-processes.c. */
#ifndef RUSE_DAEMON_FAULTS_TESTING_FAULTS_H
#define RUSE_DAEMON_FAULTS_TESTING_FAULTS_H

#include "base/testing.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/faults/faults.h"
#include "daemon/reports/blame.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "gsi/gsi.h"
#include "wire/fault_call.h"

static struct host_page page;
static struct host host;
static struct processes processes;
static struct gsi_faults own;
static struct blame blame;
static struct fault_rules rules;
static struct json_object *answer;
static int notified;

static inline void notify(void *ctx, const char *what)
{
	notified++;
}

static const struct host_ops host_ops = { .notify = notify };

static inline int setup(void **state)
{
	memset(&page, 0, sizeof(page));
	memset(&rules, 0, sizeof(rules));
	memset(&own, 0, sizeof(own));
	page.dev[2] = (struct host_dev){ .in_use = 1, .index = 5, .name = "node0", .ib.host = 1 };
	host = (struct host){ .page = &page, .ops = &host_ops };
	list_init(&processes.list);
	rules.host = &host;
	rules.processes = &processes;
	rules.own = &own;
	blame = (struct blame){ 0 };
	rules.blame = &blame;
	notified = 0;
	return 0;
}

static inline int teardown(void **state)
{
	json_object_put(answer);
	answer = NULL;
	return 0;
}

/* Runs a command. Its error; "": none. */
static inline const char *run(const char *line)
{
	char *text = fault_command(&rules, line, strlen(line), NS_S);
	struct json_object *error;

	assert_non_null(text);
	json_object_put(answer);
	answer = json_tokener_parse(text);
	free(text);
	assert_non_null(answer);
	return json_object_object_get_ex(answer, "error", &error) ? json_object_get_string(error) : "";
}

static inline bool is_usage(void)
{
	return json_object_object_get_ex(answer, "usage", NULL);
}

/* A number of rule i in the list `name` of the answer. */
static inline int64_t of_rule(const char *name, size_t i, const char *key)
{
	struct json_object *a, *v;

	assert_true(json_object_object_get_ex(answer, name, &a));
	assert_true(i < json_object_array_length(a));
	assert_true(json_object_object_get_ex(json_object_array_get_idx(a, i), key, &v));
	return json_object_get_int64(v);
}

static inline size_t rules_n(const char *name)
{
	struct json_object *a;

	assert_true(json_object_object_get_ex(answer, name, &a));
	return json_object_array_length(a);
}

/* A process with a page, as rused knows it. */
static inline struct proc_page *connect_process(struct process *pr, int pid, uint32_t proc)
{
	struct proc_page *p;

	*pr = (struct process){ .pid = pid, .proc = proc };
	pr->page_fd = memfd_create("page", MFD_CLOEXEC);
	assert_int_equal(ftruncate(pr->page_fd, sizeof(*p)), 0);
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED, pr->page_fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	p->magic = PROC_PAGE_MAGIC;
	p->version = 1;
	list_add_tail(&pr->node, &processes.list);
	return p;
}

static inline void disconnect_process(struct process *pr, struct proc_page *p)
{
	fault_process_gone(&rules, pr);
	list_del(&pr->node);
	close(pr->page_fd);
	munmap(p, sizeof(*p));
}

#endif
