/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RUN/leases: what a rused writes there, and what the next one makes of it. */
#include "base/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/state/lease.h"
#include "daemon/state/orphans.h"
#include "daemon/state/port.h"
#include "loop/testing.h"

static char dir[64];
static int run;
static struct loop loop;
static struct port port;
static struct lease_table leases;
static struct orphans orphans;

/* A rused begins. */
static int begin(void)
{
	memset(&loop, 0, sizeof(loop));
	port = (struct port){ .loop = &loop, .leases = &leases };
	if (loop_init(&loop))
		return -1;
	orphans_init(&orphans, &loop, &leases, &port);
	lease_init(&leases, 0, orphans_record, &orphans);
	return orphans_load(&orphans, run);
}

/* It is killed: the file stays as it is. */
static void end(void)
{
	orphans_fini(&orphans, run, false);
	loop_free_dead(&loop);
	loop_fini(&loop);
}

static int setup(void **state)
{
	strcpy(dir, "/tmp/test-orphans-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	run = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return begin();
}

static int teardown(void **state)
{
	end();
	unlinkat(run, ORPHANS_NAME, 0);
	close(run);
	return rmdir(dir);
}

/* A process that lives until it is killed. */
static pid_t live(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(60);
		pause();
		_exit(0);
	}
	return pid;
}

static void bury(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The next rused reserves the blocks of living processes until these reclaim them or die. */
static void test_next(void **state)
{
	pid_t a = live(), b = live(), dead = live();
	int of_a, of_b, of_dead, of_none;

	of_a = lease_get(&leases, 1, a, 0);
	of_b = lease_get(&leases, 2, b, 0);
	of_dead = lease_get(&leases, 3, dead, 0);
	of_none = lease_get(&leases, 4, 0, 0);	/* PID unknown */
	leases.block[of_a].slot = 5;
	lease_changed(&leases, (uint32_t)of_a);
	end();
	bury(dead);
	assert_int_equal(begin(), 0);
	assert_true(leases.block[of_a].orphan && leases.block[of_b].orphan);
	assert_int_equal(leases.block[of_a].pid, a);
	assert_int_equal(leases.block[of_a].slot, 5);
	assert_true(lease_awaited(&leases, (uint32_t)of_a));
	assert_false(leases.block[of_dead].orphan);
	assert_true(leases.block[of_none].orphan);
	assert_false(lease_awaited(&leases, (uint32_t)of_none));
	assert_int_equal(lease_reclaim(&leases, (uint32_t)of_b, 9, b), 0);
	assert_int_equal(lease_owner(&leases, (uint32_t)of_b), 9);
	bury(a);
	loop_round(&loop, NULL);
	assert_false(leases.block[of_a].orphan);
	assert_true(leases.block[of_a].rest > 0);
	assert_int_equal(lease_owner(&leases, (uint32_t)of_b), 9);
	/* Once more: the block of the process that has died in between is no longer in the file. */
	end();
	assert_int_equal(begin(), 0);
	assert_false(leases.block[of_a].orphan);
	assert_true(leases.block[of_b].orphan);
	bury(b);
}

/* Returned blocks are not in the file. */
static void test_returned(void **state)
{
	int block = lease_get(&leases, 1, getpid(), 0);

	assert_true(orphans_alive(run));
	lease_put_all(&leases, 1, 0);
	assert_false(orphans_alive(run));
	end();
	assert_int_equal(begin(), 0);
	assert_false(leases.block[block].orphan);
}

/* A PID alone does not name a process: the one that has it now has started at another time. */
static void test_reused_pid(void **state)
{
	struct {
		int32_t pid;
		uint32_t slot;
		uint64_t start;
	} rec = { .pid = getpid(), .start = 1 };
	int fd = openat(run, ORPHANS_NAME, O_WRONLY);

	assert_int_equal(pwrite(fd, &rec, sizeof(rec), 7 * sizeof(rec)), sizeof(rec));
	close(fd);
	assert_false(orphans_alive(run));
	end();
	assert_int_equal(begin(), 0);
	assert_false(leases.block[7].orphan);
}

/* The run directory was deleted and made again. */
static void test_save(void **state)
{
	int block = lease_get(&leases, 1, getpid(), 0);

	assert_int_equal(unlinkat(run, ORPHANS_NAME, 0), 0);
	assert_false(orphans_alive(run));
	assert_int_equal(orphans_save(&orphans, run), 0);
	assert_true(orphans_alive(run));
	end();
	assert_int_equal(begin(), 0);
	assert_int_equal(leases.block[block].pid, getpid());
}

static bool file_there(void)
{
	return !faccessat(run, ORPHANS_NAME, F_OK, 0);
}

/* At the end the file stays for the next rused, if a process still has a lease in it, or if it is another's. */
static void test_end(void **state)
{
	lease_get(&leases, 1, getpid(), 0);
	orphans_fini(&orphans, run, true);
	assert_true(file_there());
	/* Clients that are closed now keep their records. */
	lease_put_all(&leases, 1, 0);
	assert_true(orphans_alive(run));
	orphans_fini(&orphans, run, false);
	assert_true(file_there());
	orphans_fini(&orphans, run, true);
	assert_false(file_there());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_next, setup, teardown),
		cmocka_unit_test_setup_teardown(test_returned, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reused_pid, setup, teardown),
		cmocka_unit_test_setup_teardown(test_save, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
