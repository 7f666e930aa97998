/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer is killed in the middle of large copies, at a random moment, over and over.
 *
 *   copy-death ROUNDS [SEED]
 *
 *   survivor (this process)  == WRITE, READ, SEND ==  victim (a process for each round)
 *                            == WRITE, READ ==        friend (lives until the end)
 *
 * In turns the victim copies, the survivor copies, and both do. The survivor's work requests must end in RETRY_EXC_ERR
 * and flushes. Its memory outside the MRs stays as it is, inside it has words of the messages only, and after DEREG_MR
 * nothing is written there. It goes on with the friend, and at the end it has no more descriptors and mappings than after
 * the first rounds. In some rounds the victim is stopped first, so that DEREG_MR finds an access announced by a
 * process that does not run.
 *
 * Word i of a block is its tag and i.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define LEN (1u << 20)
#define GUARD (64u << 10)
#define DEPTH 8
#define SOURCES 4
#define WARM 3 /* rounds after which nothing more may be added */
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

enum tag { TAG_GUARD = 1, TAG_NEW, TAG_MINE, TAG_AFTER = TAG_MINE + SOURCES, TAG_VICTIM };
enum mode { VICTIM_COPIES, SURVIVOR_COPIES, BOTH_COPY, MODES, FRIEND = MODES };

extern char **environ;

/* A block with guards around the LEN bytes that are registered. */
struct block {
	uint64_t *all, *word;
	struct ibv_mr *mr;
};

struct end {
	struct vctx v;
	struct vdest mine, theirs;
	struct block target, source[SOURCES], sink, recv;
	uint32_t tag, writes;
	unsigned int sends, recvs; /* work requests that have not completed */
	unsigned int depth;	   /* of the requests; 0: it only receives */
};

static void words_fill(uint64_t *w, size_t len, uint32_t tag)
{
	for (uint64_t i = 0; i < len / 8; i++)
		w[i] = (uint64_t)tag << 32 | i;
}

static void block_open(struct block *b, struct ibv_pd *pd, uint32_t tag)
{
	b->all = valloc(LEN + 2 * GUARD);
	if (!b->all)
		die("no memory");
	b->word = b->all + GUARD / 8;
	words_fill(b->all, LEN + 2 * GUARD, TAG_GUARD);
	words_fill(b->word, LEN, tag);
	b->mr = ibv_reg_mr(pd, b->word, LEN, ACCESS);
	if (!b->mr)
		die("reg_mr: %m");
}

static void block_dereg(struct block *b)
{
	if (b->mr && ibv_dereg_mr(b->mr))
		die("dereg_mr: %m");
	b->mr = NULL;
}

/* Number of places at which the tag changes. No word has a tag below `least`, except `other`. */
static unsigned int block_check(const struct block *b, uint32_t least, uint32_t other,
				const char *what)
{
	unsigned int changes = 0;

	for (uint64_t i = 0; i < (LEN + 2 * GUARD) / 8; i++)
		if ((i < GUARD / 8 || i >= (GUARD + LEN) / 8) &&
		    b->all[i] != ((uint64_t)TAG_GUARD << 32 | i))
			die("%s: foreign word %#llx at %llu, outside the MR", what,
			    (unsigned long long)b->all[i], (unsigned long long)i);
	for (uint64_t i = 0; i < LEN / 8; i++) {
		uint32_t tag = (uint32_t)(b->word[i] >> 32);

		if ((uint32_t)b->word[i] != i || (tag < least && tag != other))
			die("%s: foreign word %#llx at %llu", what, (unsigned long long)b->word[i],
			    (unsigned long long)i);
		changes += i && b->word[i - 1] >> 32 != tag;
	}
	return changes;
}

static void block_close(struct block *b)
{
	block_dereg(b);
	free(b->all);
}

static void end_open(struct end *e, const struct vcfg *cfg)
{
	if (!e->v.ctx)
		v_open(&e->v, cfg);
	block_open(&e->target, e->v.pd, TAG_NEW);
	for (uint32_t i = 0; i < SOURCES; i++)
		block_open(&e->source[i], e->v.pd, e->tag + i);
	block_open(&e->sink, e->v.pd, TAG_NEW);
	block_open(&e->recv, e->v.pd, TAG_NEW);
	e->mine.addr = (uintptr_t)e->target.word;
	e->mine.rkey = e->target.mr->rkey;
	v_connect(&e->v, &e->mine, &e->theirs);
}

static void end_post(struct end *e, enum ibv_wr_opcode op, uint32_t len)
{
	const struct block *from = &e->source[e->writes % SOURCES];
	const struct block *b = op == IBV_WR_RDMA_READ ? &e->sink : from;
	struct ibv_sge sge = { (uintptr_t)b->word, len, b->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { e->theirs.addr, e->theirs.rkey } }, *bad;

	if (ibv_post_send(e->v.qp, &wr, &bad))
		die("post_send");
	e->writes += op != IBV_WR_RDMA_READ;
	e->sends++;
}

/* A WRITE is as long as the MR, and of another tag than the one before: if it was executed as a whole, the MR has one. */
static void end_copy(struct end *e)
{
	long what = random() % 8;
	uint32_t len = (16u << 10) << random() % 7;

	if (what < 6)
		end_post(e, IBV_WR_RDMA_WRITE, LEN);
	else
		end_post(e, what == 6 ? IBV_WR_RDMA_READ : IBV_WR_SEND, len);
}

static void end_recv(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->recv.word, LEN, e->recv.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(e->v.qp, &wr, &bad))
		die("post_recv");
	e->recvs++;
}

static void end_fill(struct end *e)
{
	while (e->recvs < DEPTH)
		end_recv(e);
	while (e->sends < e->depth)
		end_copy(e);
}

static void end_completed(struct end *e, const struct ibv_wc *wc)
{
	if (wc->wr_id)
		e->recvs--;
	else
		e->sends--;
}

/* Of requests that follow each other without a pause, few are executed by direct placement. */
static unsigned int mode_depth(enum mode mode, bool victim)
{
	if (mode == BOTH_COPY)
		return DEPTH / 2;
	return mode == (victim ? VICTIM_COPIES : SURVIVOR_COPIES) ? 1 : 0;
}

/* The process at the other end. */
static void other(int sock, enum mode mode, unsigned int seed)
{
	struct end e = { .v.sock = sock, .tag = TAG_VICTIM,
			 .depth = mode_depth(mode, true) };
	struct ibv_wc wc;
	char c;

	srandom(seed);
	end_open(&e, &vcfg_default);
	if (mode == FRIEND) {
		recv(sock, &c, 1, 0);
		exit(0);
	}
	words_fill(e.target.word, LEN, TAG_VICTIM);
	v_sync(sock);
	for (;;) {
		end_fill(&e);
		if (ibv_poll_cq(e.v.cq, 1, &wc) < 1)
			continue;
		end_completed(&e, &wc);
		if (!wc.status)
			continue;
		/* The survivor has ended its MR. */
		if (wc.status != IBV_WC_REM_ACCESS_ERR && wc.status != IBV_WC_RETRY_EXC_ERR)
			die("the victim got %s", ibv_wc_status_str(wc.status));
		pause();
	}
}

static pid_t other_start(int *sock, enum mode mode, unsigned int seed)
{
	char fd[16], m[16], s[16], name[] = "copy-death", with[] = "with";
	char *const argv[] = { name, with, fd, m, s, NULL };
	int sk[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sk) || fcntl(sk[0], F_SETFD, FD_CLOEXEC))
		die("socketpair: %m");
	snprintf(fd, sizeof(fd), "%d", sk[1]);
	snprintf(m, sizeof(m), "%d", (int)mode);
	snprintf(s, sizeof(s), "%u", seed);
	errno = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
	if (errno)
		die("posix_spawn: %m");
	close(sk[1]);
	*sock = sk[0];
	return pid;
}

struct killer {
	pthread_t thread;
	pid_t pid;
	useconds_t wait;
	bool stop, done;
};

static void *killer_run(void *arg)
{
	struct killer *k = arg;

	usleep(k->wait);
	if (k->stop)
		kill(k->pid, SIGSTOP);
	/* The survivor may end its MR before the victim is dead. */
	__atomic_store_n(&k->done, true, __ATOMIC_RELEASE);
	usleep(k->stop ? 30000 : k->wait % 512);
	kill(k->pid, SIGKILL);
	return NULL;
}

/* Exchanges messages until shortly before the kill. Then, if `early`, ends the target's MR at once and uses its memory. */
static void survive(struct end *e, struct killer *k, bool early)
{
	struct ibv_wc wc = { 0 };
	bool failed = false, killed = false, refused;

	while (!failed || e->sends) {
		if (!killed && __atomic_load_n(&k->done, __ATOMIC_ACQUIRE)) {
			killed = true;
			if (early) {
				block_dereg(&e->target);
				words_fill(e->target.word, LEN, TAG_AFTER);
			}
			if (!e->sends && !failed)
				end_post(e, IBV_WR_SEND, LEN);
		}
		if (!failed && !killed)
			end_fill(e);
		if (ibv_poll_cq(e->v.cq, 1, &wc) < 1)
			continue;
		end_completed(e, &wc);
		if (!wc.status) {
			if (killed && !failed && !e->sends)
				end_post(e, IBV_WR_SEND, LEN);
			continue;
		}
		/* The victim's next request may have come after DEREG_MR: then the QP fails as a responder. */
		refused = killed && early && wc.status == IBV_WC_WR_FLUSH_ERR;
		if (wc.status != (failed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR) && !refused)
			die("%s%s of a %s", failed ? "after the error: " : "first error: ",
			    ibv_wc_status_str(wc.status), wc.wr_id ? "receive" : "request");
		failed = true;
	}
	while (e->recvs) {
		if (v_wait(e->v.cq, &wc, 30) != IBV_WC_WR_FLUSH_ERR || !wc.wr_id)
			die("receive: %s", ibv_wc_status_str(wc.status));
		e->recvs--;
	}
}

/* A WRITE to and a READ from the peer that lives. */
static void go_on(struct end *f)
{
	struct ibv_wc wc;

	f->writes = 0;
	words_fill(f->source[0].word, LEN, ++f->tag);
	end_post(f, IBV_WR_RDMA_WRITE, LEN);
	end_post(f, IBV_WR_RDMA_READ, LEN);
	for (; f->sends; f->sends--)
		if (v_wait(f->v.cq, &wc, 60))
			die("friend: %s", ibv_wc_status_str(wc.status));
	if (block_check(&f->sink, f->tag, f->tag, "friend"))
		die("friend: several tags");
}

/* True: the victim died within a WRITE. */
static bool one_round(struct end *e, unsigned int i, unsigned int seed)
{
	struct vcfg cfg = vcfg_default;
	enum mode mode = i % 2 ? VICTIM_COPIES : (enum mode)(random() % MODES);
	bool early = random() % 2, torn;
	struct killer k = { .wait = (useconds_t)(1000 + random() % 8000), .stop = !(random() % 4) };
	int status;

	cfg.timeout = 10; /* 4 ms */
	cfg.retry = 3;
	e->v.cfg = cfg;
	e->depth = mode_depth(mode, false);
	e->tag = TAG_MINE;
	k.pid = other_start(&e->v.sock, mode, seed + i);
	e->v.qp = v_qp(&e->v);
	end_open(e, &cfg);
	end_fill(e);
	v_sync(e->v.sock);
	if (pthread_create(&k.thread, NULL, killer_run, &k))
		die("pthread_create");
	survive(e, &k, early);
	block_dereg(&e->target);
	pthread_join(k.thread, NULL);
	if (waitpid(k.pid, &status, 0) != k.pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGKILL)
		die("the victim ended by itself, status %#x", status);
	torn = block_check(&e->target, early ? TAG_AFTER : TAG_VICTIM,
			   early ? TAG_AFTER : TAG_NEW, "target") != 0;
	if (early && torn)
		die("target: written after DEREG_MR");
	for (uint32_t s = 0; s < SOURCES; s++)
		block_check(&e->source[s], TAG_MINE + s, TAG_MINE + s, "source");
	/* It may have read back what it has written. */
	block_check(&e->sink, TAG_MINE, TAG_NEW, "sink");
	block_check(&e->recv, TAG_VICTIM, TAG_NEW, "receive");
	if (ibv_destroy_qp(e->v.qp))
		die("destroy_qp");
	block_close(&e->target);
	for (uint32_t s = 0; s < SOURCES; s++)
		block_close(&e->source[s]);
	block_close(&e->sink);
	block_close(&e->recv);
	close(e->v.sock);
	return torn;
}

/* By system calls, which see the descriptors that ruse hides, too. */
static unsigned int descriptors(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY, 0);
	char buf[32768];
	long n, at;
	unsigned int count = 0;

	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (at = 0; at < n; at += ((struct dirent64 *)(buf + at))->d_reclen)
			count++;
	syscall(SYS_close, fd);
	return count;
}

/* The number of files of ruse that are mapped. */
static unsigned int mappings(void)
{
	unsigned long inode[256];
	unsigned int count = 0, i;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long ino;

		if (!strstr(line, "/memfd:") || sscanf(line, "%*s %*s %*s %*s %lu", &ino) != 1)
			continue;
		for (i = 0; i < count && inode[i] != ino; i++)
			;
		if (i == count && count < 256)
			inode[count++] = ino;
	}
	if (f)
		fclose(f);
	return count;
}

static void leaks(unsigned int fds, unsigned int maps)
{
	/* The background thread closes what belonged to the last victim. */
	for (int i = 0; i < 1000 && (descriptors() > fds || mappings() > maps); i++)
		usleep(10000);
	if (descriptors() > fds || mappings() > maps)
		die("descriptors: %u, then %u; mapped files: %u, then %u", fds, descriptors(), maps,
		    mappings());
	printf("copy-death: %u descriptors and %u mapped files of at most %u and %u\n", descriptors(),
	       mappings(), fds, maps);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 20, torn = 0;
	unsigned int seed = argc > 2 ? (unsigned int)atoi(argv[2]) : (unsigned int)time(NULL);
	unsigned int fds = 0, maps = 0;
	struct end e = { 0 }, f = { 0 };
	pid_t friend;
	int status;

	signal(SIGPIPE, SIG_IGN);
	if (argc == 5)
		other(atoi(argv[2]), (enum mode)atoi(argv[3]), (unsigned int)atoi(argv[4]));
	printf("copy-death: %u rounds, seed %u\n", rounds, seed);
	fflush(stdout);
	srandom(seed);
	friend = other_start(&f.v.sock, FRIEND, seed);
	f.tag = TAG_VICTIM;
	end_open(&f, &vcfg_default);
	e.v = f.v;
	e.v.cq = ibv_create_cq(e.v.ctx, 256, NULL, NULL, 0);
	for (unsigned int i = 0; i < rounds; i++) {
		alarm(120);
		torn += one_round(&e, i, seed);
		go_on(&f);
		if (i == WARM) {
			usleep(100000);
			/* A little more: rused's socket, the last victim. */
			fds = descriptors() + 4;
			maps = mappings() + 4;
		}
	}
	if (rounds > WARM)
		leaks(fds, maps);
	close(f.v.sock);
	if (waitpid(friend, &status, 0) != friend || status)
		die("friend: status %#x", status);
	printf("copy-death: %u of %u victims died within a WRITE\n", torn, rounds);
	return 0;
}
