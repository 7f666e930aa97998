/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random operations over many QPs, processes and regions, compared with a shadow copy of all
 * memory that they may change.
 *
 *   soak OPERATIONS [PROCESSES CONNECTIONS SEED]
 *   soak kill ROUNDS [PROCESSES CONNECTIONS SEED]
 *
 * A connection is a pair of RC, UC or UD QPs, in two processes or in one. Each side has an area
 * that only its peer may write, by WRITE, WRITE with immediate and atomics. So the peer knows
 * what the area must hold when its operations are done: the shadow, in memory that all processes
 * share. READs and atomics must return what the shadow holds, messages what their sender
 * recorded; every request completes once and in order; and at the end of a phase, when nothing is
 * in flight, each process compares its areas and the guards around them byte by byte. Between
 * phases some connections are reset, and some QPs and MRs are created anew.
 *
 * kill: in every round one process dies by SIGKILL in the middle. The others must finish: with
 * errors on connections to the dead process, correctly on all others.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "soak.h"

#define STALL 60	/* seconds without any progress: the process hangs */

struct world *world;

static uint32_t load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/*
 * Resident private memory in KiB. Shared memory is left out: it holds the shadow copies and rings,
 * and how much of it is resident depends on chance.
 */
static long rss_kib(void)
{
	long size = 0, rss = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld %ld", &size, &rss, &shared) != 3)
		die("statm");
	fclose(f);
	return (rss - shared) * (sysconf(_SC_PAGESIZE) / 1024);
}

/* KiB by which a process may grow after the first phases: $SOAK_GROW_KIB, or 2048. */
static long grow_max(void)
{
	const char *v = getenv("SOAK_GROW_KIB");

	return v ? atol(v) : 2048;
}

static uint32_t ndead(void)
{
	uint32_t n = 0;

	for (int i = 0; i < world->nprocs; i++)
		n += load(&world->dead[i]) != 0;
	return n;
}

static bool busy(const struct proc *p)
{
	for (int i = 0; i < p->nends; i++)
		if (p->end[i].oldest != p->end[i].next)
			return true;
	return false;
}

/* True until everything that live peers have sent has arrived. */
static bool missing(const struct proc *p)
{
	for (int i = 0; i < p->nends; i++) {
		const struct end *e = &p->end[i];

		if (!peer_dead(e) && e->received != load(&e->mine->sent))
			return true;
	}
	return false;
}

/* Takes completions while cond() is true. */
static void reap_while(struct proc *p, bool (*cond)(const struct proc *p), const char *what)
{
	time_t since = time(NULL);

	while (cond(p)) {
		if (reap(p, true))
			since = time(NULL);
		else if (time(NULL) - since > STALL)
			die("process %d hangs: %s", p->id, what);
	}
}

static bool others_busy(const struct proc *p)
{
	(void)p;
	return load(&world->drained) + ndead() < (uint32_t)world->nprocs;
}

static void phase(struct proc *p)
{
	uint64_t ops = world->ops;

	p->events = below(&p->rng, 2);
	while (world->kill ? !load(&world->stop) : ops > 0) {
		struct end *e = &p->end[below(&p->rng, (uint32_t)p->nends)];
		uint64_t before = e->next;

		if (!e->failed)
			post_batch(p, e);
		ops -= e->next - before < ops ? e->next - before : ops;
		reap(p, e->next == before);
	}
	reap_while(p, busy, "requests do not complete");
	__atomic_fetch_add(&world->drained, 1, __ATOMIC_ACQ_REL);
	reap_while(p, others_busy, "the others do not finish");
	reap_while(p, missing, "messages do not arrive");
	if (!world->kill)
		pthread_barrier_wait(&world->barrier);
	for (int i = 0; i < p->nends; i++)
		end_verify(p, &p->end[i]);
}

/* Both sides draw the same random numbers: some connections are set up anew. */
static void shuffle(struct proc *p, int round)
{
	uint64_t lots[MAX_CONNS];

	for (int c = 0; c < world->nconns; c++) {
		lots[c] = world->seed * 31 + (uint64_t)(round * MAX_CONNS + c) * 0x9e3779b97f4a7c15;
		rnd(&lots[c]);
		lots[c] = rnd(&lots[c]) >> 16 & 7;
	}
	for (int i = 0; i < p->nends; i++) {
		struct end *e = &p->end[i];
		uint64_t lot = lots[e->c - world->conn];

		if (lot & 1)
			end_register(p, e);
		if (lot & 2)
			end_reset(e);
		if ((lot & 6) == 6) {
			if (ibv_destroy_qp(e->qp))
				die("destroy_qp");
			end_qp(p, e);
		}
	}
	if (ibv_resize_cq(p->v.cq, (int)(p->v.cfg.cqe + below(&p->rng, 500))))
		die("resize_cq");
	pthread_barrier_wait(&world->barrier);
	for (int i = 0; i < p->nends; i++)
		if (lots[p->end[i].c - world->conn] & 2)
			end_connect(p, &p->end[i]);
	if (p->id == 0)
		__atomic_store_n(&world->drained, 0, __ATOMIC_RELEASE);
	pthread_barrier_wait(&world->barrier);
}

static void run(int id)
{
	static struct proc proc;
	struct vcfg cfg = vcfg_default;
	struct proc *p = &proc;
	int fds = 0;
	long rss = 0;

	p->id = id;
	p->rng = world->seed * 977 + (uint64_t)id + 1;
	cfg.cqe = (uint32_t)world->nconns * 2 * 3 * DEPTH;
	cfg.channel = true;
	p->v.sock = -1;
	v_open(&p->v, &cfg);
	for (int c = 0; c < world->nconns; c++)
		for (int side = 0; side < 2; side++)
			if (world->conn[c].proc[side] == id)
				end_open(p, &p->end[p->nends++], &world->conn[c], side);
	pthread_barrier_wait(&world->barrier);
	for (int i = 0; i < p->nends; i++)
		end_connect(p, &p->end[i]);
	pthread_barrier_wait(&world->barrier);
	for (int round = 0; round < world->phases; round++) {
		phase(p);
		if (round == 1) {
			rss = rss_kib();
			fds = open_fds();
		}
		if (round + 1 < world->phases)
			shuffle(p, round);
	}
	if (rss && rss_kib() > rss + grow_max())
		die("process %d: grew from %ld to %ld KiB", id, rss, rss_kib());
	/* The engine's links to the peers have descriptors, too: allow six for each process. */
	if (fds && open_fds() > fds + 6 * world->nprocs)
		die("process %d: %d descriptors, %d before", id, open_fds(), fds);
	for (int i = 0; i < p->nends; i++)
		end_close(&p->end[i]);
	v_close(&p->v);
}

static void world_init(uint64_t seed, int nprocs, int nconns)
{
	static const enum ibv_qp_type type[] = { IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	pthread_barrierattr_t attr;
	uint64_t s = seed * 0x9e3779b97f4a7c15 + 1;

	memset(world, 0, sizeof(*world));
	world->seed = seed;
	world->nprocs = nprocs;
	world->nconns = nconns;
	for (int c = 0; c < nconns; c++) {
		world->conn[c].type = type[c % 4];
		world->conn[c].proc[0] = c % nprocs;
		world->conn[c].proc[1] = (int)below(&s, (uint32_t)nprocs);
	}
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (pthread_barrier_init(&world->barrier, &attr, (unsigned int)nprocs))
		die("barrier");
}

static void spawn(pid_t *pid)
{
	for (int i = 0; i < world->nprocs; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			die("fork");
		if (!pid[i]) {
			run(i);
			exit(0);
		}
	}
}

/* All processes must succeed, except the one that was killed. A failure kills the others. */
static bool collect(const pid_t *pid, int killed)
{
	bool good = true;
	int status;
	pid_t who;

	for (int n = 0; n < world->nprocs; n++) {
		who = wait(&status);
		if (who < 0 || (killed >= 0 && who == pid[killed]) || !status)
			continue;
		fprintf(stderr, "soak: a process ends with status %#x\n", status);
		good = false;
		for (int i = 0; i < world->nprocs; i++)
			kill(pid[i], SIGKILL);
	}
	return good;
}

static int soak(uint64_t ops, uint64_t seed, int nprocs, int nconns)
{
	static const char *const names[K_KINDS] = { "SEND", "SEND_IMM", "WRITE", "WRITE_IMM",
						    "READ", "FETCH_ADD", "CMP_SWP" };
	pid_t pid[MAX_PROCS];

	world_init(seed, nprocs, nconns);
	world->phases = 8;
	world->ops = ops / (uint64_t)nprocs / (uint64_t)world->phases + 1;
	spawn(pid);
	if (!collect(pid, -1))
		return 1;
	printf("soak: %llu operations:", (unsigned long long)world->done);
	for (int k = 0; k < K_KINDS; k++)
		printf(" %s %llu", names[k], (unsigned long long)world->by_kind[k]);
	putchar('\n');
	return world->done < ops;
}

static void nap(uint32_t us)
{
	struct timespec t = { 0, (long)us * 1000 };

	nanosleep(&t, NULL);
}

static int kills(uint64_t rounds, uint64_t seed, int nprocs, int nconns)
{
	pid_t pid[MAX_PROCS];
	uint64_t s = seed + 1, ops = 0;

	for (uint64_t r = 0; r < rounds; r++) {
		int victim;

		world_init(seed + r, nprocs, nconns);
		world->phases = 1;
		world->kill = true;
		spawn(pid);
		/*
		 * Wait for the first operation, which follows the barriers: if a process died
		 * before, the others would wait at a barrier forever.
		 */
		while (!__atomic_load_n(&world->done, __ATOMIC_ACQUIRE))
			nap(100);
		nap(below(&s, 5000));
		victim = (int)below(&s, (uint32_t)nprocs);
		__atomic_store_n(&world->dead[victim], 1, __ATOMIC_RELEASE);
		kill(pid[victim], SIGKILL);
		nap(below(&s, 5000));
		__atomic_store_n(&world->stop, 1, __ATOMIC_RELEASE);
		if (!collect(pid, victim)) {
			fprintf(stderr, "soak: round %llu\n", (unsigned long long)r);
			return 1;
		}
		ops += world->done;
	}
	printf("soak: %llu kills, %llu operations\n", (unsigned long long)rounds,
	       (unsigned long long)ops);
	return 0;
}

int main(int argc, char **argv)
{
	bool kill = argc > 1 && !strcmp(argv[1], "kill");
	uint64_t count, seed;
	int nprocs, nconns;

	if (kill) {
		argc--;
		argv++;
	}
	count = argc > 1 ? strtoull(argv[1], NULL, 0) : 30000;
	nprocs = argc > 2 ? atoi(argv[2]) : 3;
	nconns = argc > 3 ? atoi(argv[3]) : 12;
	seed = argc > 4 ? strtoull(argv[4], NULL, 0) : (uint64_t)time(NULL) ^ (uint64_t)getpid();
	if (nprocs < 1 || nprocs > MAX_PROCS || nconns < 1 || nconns > MAX_CONNS) {
		fprintf(stderr, "soak: 1 to %d processes, 1 to %d connections\n", MAX_PROCS,
			MAX_CONNS);
		return 2;
	}
	printf("soak: seed %llu, %d processes, %d connections\n", (unsigned long long)seed,
	       nprocs, nconns);
	fflush(stdout);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (world == MAP_FAILED)
		die("mmap");
	return kill ? kills(count, seed, nprocs, nconns) : soak(count, seed, nprocs, nconns);
}
