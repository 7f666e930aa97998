/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "ipc/pages.h"

static struct host_page page, copy;

static int setup(void **state)
{
	memset(&page, 0, sizeof(page));
	page.magic = HOST_PAGE_MAGIC;
	page.version = 1;
	return 0;
}

static void test_sane(void **state)
{
	assert_int_equal(host_page_read(&page, &copy), 0);
	page.magic++;
	assert_int_equal(host_page_read(&page, &copy), -EPROTO);
	page.magic--;
	page.dev[3].ngids = HOST_MAX_GIDS + 1;
	assert_int_equal(host_page_read(&page, &copy), 0);
	page.dev[3].in_use = 1;
	assert_int_equal(host_page_read(&page, &copy), -EPROTO);
	page.dev[3].ngids = HOST_MAX_GIDS;
	assert_int_equal(host_page_read(&page, &copy), 0);
	memset(page.dev[3].name, 'x', sizeof(page.dev[3].name));
	assert_int_equal(host_page_read(&page, &copy), -EPROTO);
}

static void test_writer_died(void **state)
{
	seqlock_write_begin(&page.lock);
	assert_int_equal(host_page_read(&page, &copy), -EPROTO);
}

#define ROUNDS 2000

static void *write_pages(void *arg)
{
	uint32_t i, k;

	for (i = 1; i <= ROUNDS; i++) {
		seqlock_write_begin(&page.lock);
		for (k = 0; k < HOST_MAX_DEVS; k++)
			WRITE_ONCE(page.dev[k].index, i);
		seqlock_write_end(&page.lock);
		if (i % 2)
			usleep(50);	/* two writes in a row, then time for a read */
	}
	return NULL;
}

/* A copy of the host page never mixes two versions of it. */
static void test_torn(void **state)
{
	pthread_t t;
	int k, reads = 0;

	assert_int_equal(pthread_create(&t, NULL, write_pages, NULL), 0);
	while (READ_ONCE(page.lock.word) < 2 * ROUNDS) {
		if (host_page_read(&page, &copy))
			continue;
		for (k = 1; k < HOST_MAX_DEVS; k++)
			assert_int_equal(copy.dev[k].index, copy.dev[0].index);
		reads++;
	}
	pthread_join(t, NULL);
	assert_int_equal(host_page_read(&page, &copy), 0);
	assert_int_equal(copy.dev[5].index, ROUNDS);
	assert_int_not_equal(reads, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sane, setup),
		cmocka_unit_test_setup(test_writer_died, setup),
		cmocka_unit_test_setup(test_torn, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
