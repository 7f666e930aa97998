/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random kills, stops and continues of programs and of rused under verified traffic.
 *
 *   storm ROUNDS [SEED]
 *
 *   member 0 ══ member 1 ══ member 2 ══ member 3 ══ (member 0)	RC both ways: storm_member.c
 *
 * A round is one to three of these actions, with short pauses in between:
 *
 *   SIGKILL of a member, which is replaced at once; also while it starts or is stopped
 *   SIGSTOP of a member, SIGCONT after up to 100 ms
 *   SIGKILL of rused; the next program or command that needs one starts it
 *   SIGSTOP of rused, SIGCONT after up to 100 ms
 *
 * At the end of a round all stopped processes are continued. Then every connection must carry
 * messages and requests again in both directions: a connection of two living members without an
 * error, a connection of a killed member with the program that replaces it. If this takes more than
 * HANG_S seconds, a connection hangs and the test fails. It also fails at the first wrong byte, and
 * at the first completion error on a connection whose peer is alive.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "storm.h"
#include "verbs.h"

#define HANG_S 100
#define PAUSE_US 20000
#define STOP_MS 100
/*
 * A round ends when each side of each connection has completed so many more messages and requests.
 */
#define WORTH 4u

enum action { A_KILL, A_STOP, A_KILL_RUSED, A_STOP_RUSED, A_ACTIONS };
static const char *const action_name[] = { "kills of programs", "stops of programs",
					   "kills of rused", "stops of rused" };

struct world *world;

static struct {
	const char *rundir;
	uint64_t rng, count[A_ACTIONS];
	uint32_t rounds, round;
	pid_t pid[MEMBERS];
	/*
	 * Time in ms at which the stopped member is continued; 0: it is not stopped. The last is
	 * rused's.
	 */
	uint64_t cont_at[MEMBERS + 1];
	int rused_fd;			/* pidfd of the stopped rused */
} d = { .rused_fd = -1 };

void nap_us(uint32_t us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&t, NULL);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void trouble(void)
{
	store(&world->troubles, world->troubles + 1);
}

static void start(int id)
{
	uint32_t life = world->member[id].life;

	d.pid[id] = fork();
	if (d.pid[id] < 0)
		die("fork");
	if (d.pid[id])
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	member_run(id, life);
	exit(0);
}

static const char *place(void)
{
	static char s[80];

	snprintf(s, sizeof(s), "round %u of %u, seed %llu", d.round, d.rounds,
		 (unsigned long long)world->seed);
	return s;
}

/* Fails if a member has ended: none may end by itself before storm.c has done all its rounds of kills and stops. */
static void look_for_the_fallen(void)
{
	int status;

	for (int i = 0; i < MEMBERS; i++)
		if (d.pid[i] && waitpid(d.pid[i], &status, WNOHANG) == d.pid[i])
			die("storm: %s: member %d (process %d) ends with status %#x", place(), i,
			    (int)d.pid[i], (unsigned int)status);
}

/* True if the process is a rused that has this test's run directory. */
static bool is_rused(const char *pid)
{
	char path[64], s[4096], *name;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%.16s/cmdline", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	n = fread(s, 1, sizeof(s) - 1, f);
	fclose(f);
	s[n] = 0;
	name = strrchr(s, '/');
	if (strcmp(name ? name + 1 : s, "rused") != 0)
		return false;
	for (size_t i = 0; i < n; i += strlen(s + i) + 1)
		if (!strcmp(s + i, d.rundir))
			return true;
	return false;
}

/* Returns a pidfd of a rused, or -1. While one rused takes over from another there are two; one of them is chosen. */
static int find_rused(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int fd, found = -1;

	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]) || !is_rused(e->d_name))
			continue;
		fd = (int)syscall(SYS_pidfd_open, atoi(e->d_name), 0);
		/* Look again: the PID may belong to another process since then. */
		if (fd >= 0 && is_rused(e->d_name) && (found < 0 || below(&d.rng, 2))) {
			if (found >= 0)
				close(found);
			found = fd;
		} else if (fd >= 0) {
			close(fd);
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

static void send_signal(int fd, int sig)
{
	syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
}

static void kill_member(int i)
{
	uint32_t life = world->member[i].life + 1;
	int status;

	store(&world->member[i].life, life);
	kill(d.pid[i], SIGKILL);
	if (waitpid(d.pid[i], &status, 0) != d.pid[i] ||
	    !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		die("storm: %s: member %d ended by itself with status %#x", place(), i,
		    (unsigned int)status);
	d.cont_at[i] = 0;
	store(&world->member[i].buried, life);
	start(i);
}

static void cont(int i)
{
	d.cont_at[i] = 0;
	if (i < MEMBERS) {
		kill(d.pid[i], SIGCONT);
	} else {
		send_signal(d.rused_fd, SIGCONT);
		close(d.rused_fd);
		d.rused_fd = -1;
	}
	trouble();
}

/* Continues the stopped processes whose time has come. all: waits for the others and continues them too. */
static void continue_stopped(bool all)
{
	bool left;

	do {
		left = false;
		for (int i = 0; i <= MEMBERS; i++) {
			if (d.cont_at[i] && now_ms() >= d.cont_at[i])
				cont(i);
			left |= d.cont_at[i] != 0;
		}
		if (left && all)
			nap_us(1000);
	} while (left && all);
}

static void act(enum action a)
{
	uint64_t until = now_ms() + 1 + below(&d.rng, STOP_MS);
	int i = (int)below(&d.rng, MEMBERS), fd;

	switch (a) {
	case A_KILL:
		kill_member(i);
		break;
	case A_STOP:
		trouble();
		kill(d.pid[i], SIGSTOP);
		d.cont_at[i] = until;
		break;
	default:
		if (a == A_STOP_RUSED && d.cont_at[MEMBERS])
			return;
		trouble();
		fd = find_rused();
		if (fd < 0)
			return;
		send_signal(fd, a == A_KILL_RUSED ? SIGKILL : SIGSTOP);
		if (a == A_KILL_RUSED) {
			close(fd);
		} else {
			d.rused_fd = fd;
			d.cont_at[MEMBERS] = until;
		}
	}
	d.count[a]++;
}

static void report(void)
{
	for (int c = 0; c < MEMBERS; c++)
		for (int side = 0; side < 2; side++) {
			const struct half *h = &world->half[c][side];
			int id = (c + side) % MEMBERS;

			fprintf(stderr, "# connection %d, member %d (process %d, life %u): state %u, "
				"offered %#llx, connected %#llx, %u verified, %u in flight, %u "
				"received, %u of them in this connection\n", c, id, (int)d.pid[id],
				world->member[id].life, h->state, (unsigned long long)h->offered,
				(unsigned long long)h->connected, h->sent_ok, h->in_flight, h->got,
				h->checked);
		}
	fflush(stderr);
	/* Wait, so that a debugger can be attached. */
	if (getenv("STORM_WAIT"))
		pause();
}

/*
 * Waits until each side of each connection is connected to the present program of the other member,
 * and has completed WORTH more messages and WORTH more requests.
 */
static void recover(void)
{
	uint32_t sent[MEMBERS][2], got[MEMBERS][2];
	uint64_t until = now_ms() + HANG_S * 1000, key;
	bool good;

	for (int c = 0; c < MEMBERS; c++)
		for (int side = 0; side < 2; side++) {
			sent[c][side] = load(&world->half[c][side].sent_ok);
			got[c][side] = load(&world->half[c][side].got);
		}
	do {
		good = true;
		for (int c = 0; c < MEMBERS; c++) {
			key = (uint64_t)world->member[c].life << 32 |
			      world->member[(c + 1) % MEMBERS].life;
			for (int side = 0; side < 2; side++) {
				const struct half *h = &world->half[c][side];

				good &= __atomic_load_n(&h->connected, __ATOMIC_ACQUIRE) == key &&
					load(&h->sent_ok) - sent[c][side] >= WORTH &&
					load(&h->got) - got[c][side] >= WORTH;
			}
		}
		look_for_the_fallen();
		if (now_ms() > until) {
			report();
			die("storm: %s: a connection hangs", place());
		}
		if (!good)
			nap_us(500);
	} while (!good);
}

static void round_of_storm(void)
{
	static const enum action dice[] = { A_KILL, A_KILL, A_KILL, A_STOP, A_STOP, A_STOP,
					    A_KILL_RUSED, A_KILL_RUSED, A_STOP_RUSED };
	uint32_t n = 1 + below(&d.rng, 3);

	while (n--) {
		act(dice[below(&d.rng, sizeof(dice) / sizeof(*dice))]);
		nap_us(below(&d.rng, PAUSE_US));
		continue_stopped(false);
	}
	continue_stopped(true);
	recover();
	store(&world->settled, world->troubles);
}

/* Every member finishes what is under way, verifies it, destroys its objects and exits. */
static void calm(void)
{
	uint64_t until = now_ms() + HANG_S * 1000;
	int status, left = MEMBERS;

	/* From here on nothing is killed or stopped, so a command that fails makes the test fail. */
	store(&world->stop, 1);
	while (left) {
		for (int i = 0; i < MEMBERS; i++) {
			if (!d.pid[i] || waitpid(d.pid[i], &status, WNOHANG) != d.pid[i])
				continue;
			d.pid[i] = 0;
			left--;
			if (status)
				die("storm: at the end member %d ends with status %#x, seed %llu",
				    i, (unsigned int)status, (unsigned long long)world->seed);
		}
		if (now_ms() > until) {
			report();
			die("storm: the end hangs, seed %llu", (unsigned long long)world->seed);
		}
		nap_us(1000);
	}
}

int main(int argc, char **argv)
{
	uint64_t began = now_ms();

	d.rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 300;
	d.rundir = getenv("RUSE_DIR");
	if (!d.rundir)
		die("storm: RUSE_DIR must be set");
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (world == MAP_FAILED)
		die("mmap");
	world->seed = argc > 2 ? strtoull(argv[2], NULL, 0) :
				 (uint64_t)time(NULL) ^ (uint64_t)getpid() << 16;
	printf("storm: %u rounds, seed %llu\n", d.rounds, (unsigned long long)world->seed);
	fflush(stdout);
	d.rng = hash(world->seed);
	for (int i = 0; i < MEMBERS; i++) {
		world->member[i].life = world->member[i].buried = 1;
		start(i);
	}
	recover();
	for (d.round = 1; d.round <= d.rounds; d.round++)
		round_of_storm();
	calm();
	printf("storm: %u rounds in %.1f s:", d.rounds, (double)(now_ms() - began) / 1000);
	for (int a = 0; a < A_ACTIONS; a++)
		printf(" %llu %s,", (unsigned long long)d.count[a], action_name[a]);
	printf(" %llu messages, %llu READs, %llu MB, %llu excused failures of commands\n",
	       (unsigned long long)world->messages, (unsigned long long)world->reads,
	       (unsigned long long)(world->bytes >> 20), (unsigned long long)world->excused);
	return 0;
}
