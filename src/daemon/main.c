/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rused, the daemon of ruse. It keeps the state that all programs of a host share, and that is in
 * the kernel where RDMA hardware is used. Each user has one rused per network namespace, found by
 * its run directory. The first program that needs it starts it. It exits after 10 s without clients
 * (--idle), but not while a process has a block of QP numbers, a program has rdma_cm, umadN or issmN
 * open, there is a fabric, or a device was added, deleted or renamed, or a fault rule added
 * (rused_busy()).
 *
 * RUN/lock is held (flock) from before the first other file is made until after the last is
 * removed (life/place.c). A rused that cannot lock it, and finds that the other rused answers, says so and exits
 * with status 0, with --foreground 1. With the lock, rused removes what a killed predecessor left, except RUN/leases,
 * which lists the processes that still use their queue-pair numbers (state/orphans.c).
 *
 * Single-threaded: loop.c calls clients.c, the files and the devices. A message is handled completely
 * before the next one, and nothing waits meanwhile. A client that violates the protocol is closed
 * and logged.
 *
 * The log is RUN/rused.log, or stderr with --foreground. It stays until the next rused begins a new one;
 * after a crash it is renamed to RUN/rused.crash. RUN/failures.json (reports/explain.c) stays, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/rand.h"
#include "daemon/daemon.h"
#include "daemon/life/reset.h"

#define IDLE_DEFAULT 10

struct options {
	const char *rundir;
	bool foreground;
	long idle;
};

static void rused_usage(FILE *f)
{
	fputs("usage: rused [--rundir DIR] [--idle SECONDS] [--foreground]\n"
	      "The daemon of ruse, shared by all programs of a host. The first program that uses\n"
	      "RDMA starts it. Start it by hand only to see its log.\n\n"
	      "  --rundir DIR    run directory (default: $RUSE_DIR, else one per network namespace)\n"
	      "  --idle SECONDS  exit after SECONDS without a client (default 10; 0: never)\n"
	      "  --foreground    log to standard error instead of DIR/" IPC_LOG_NAME "\n"
	      "  --help, --version\n"
	      "\nEnvironment: RUSE_NETDEV=IF|NAME=IF[,...]|all, RUSE_LIKE=NAME, RUSE_LOG=err|warn|info|debug\n", f);
}

/* --help and --version, opt. Exits. */
static void options_tell(int opt)
{
	if (opt == 'h')
		rused_usage(stdout);
	else
		puts("rused " RUSE_VERSION);
	if (!fflush(stdout))
		exit(0);
	fprintf(stderr, "rused: standard output: %m\n");
	exit(1);
}

/* Parses the options. Exits for --help, --version and wrong usage. */
static void options_parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "rundir", required_argument, NULL, 'r' }, { "idle", required_argument, NULL, 'i' },
		{ "foreground", no_argument, NULL, 'f' },   { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },	    { 0 },
	};
	int c, tell = 0;
	char *end;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'r':
			o->rundir = optarg;
			if (!*optarg) {
				fputs("rused: --rundir: the argument is empty\n", stderr);
				exit(2);
			}
			break;
		case 'i':
			o->idle = strtol(optarg, &end, 10);
			if (*end || end == optarg || o->idle < 0 || o->idle > 365 * 86400L) {
				fprintf(stderr, "rused: --idle: '%s' is not a number of seconds from 0 to 31536000\n",
					optarg);
				exit(2);
			}
			break;
		case 'f':
			o->foreground = true;
			break;
		case 'h':
		case 'V':
			tell = c;
			break;
		default:
			rused_usage(stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "rused: unexpected argument '%s'\n", argv[optind]);
		exit(2);
	}
	if (tell)
		options_tell(tell);
}

static void signal_event(struct loop_fd *f, uint32_t events)
{
	struct rused *r = container_of(f, struct rused, signals);
	struct signalfd_siginfo si;

	if (read(f->fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	log_info("exiting: received signal %u", si.ssi_signo);
	r->drain = true;
	r->loop.stop = true;
}

static int watch_signals(struct rused *r)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	r->signals.fn = signal_event;
	return loop_add(&r->loop, &r->signals, fd, EPOLLIN);
}

static void idle_timeout(struct timer *t, ns_t now)
{
	struct rused *r = container_of(t, struct rused, idle_timer);

	if (rused_busy(r))
		timer_set(&r->loop.timers, t, now + r->idle);
	else
		r->loop.stop = true;
}

static int rused_setup(struct rused *r, const struct options *o)
{
	int rc;

	r->signals.fd = r->host.page_fd = -1;
	listener_init(&r->listener, &r->loop, &r->place, clients_accept, r);
	list_init(&r->processes.list);
	explain_init(&r->explain);
	runs_init(&r->runs);
	cgroup_init(&r->cgroup, &r->loop);
	port_init(&r->port, &r->loop, &r->leases, &r->gsi, rused_port_opened);
	orphans_init(&r->orphans, &r->loop, &r->leases, &r->port);
	hostnet_init(&r->net, &r->loop, &devices_net_ops, &r->devices);
	rc = loop_init(&r->loop);
	if (rc)
		return rc;
	channels_init(&r->channels, &r->loop, &r->processes, &r->ucma);
	r->status.started = r->loop.now;
	r->idle = o->idle * NS_S;
	r->idle_timer.fn = idle_timeout;
	r->processes.next_proc = rand_u32();
	r->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	lease_init(&r->leases, rand_u32(), orphans_record, &r->orphans);
	rc = watch_signals(r);
	if (rc)
		return rc;
	sysfs_remove(r->place.run);	/* left by an earlier rused that was killed */
	rc = orphans_load(&r->orphans, r->place.run);
	if (!rc)
		rc = host_init(&r->host, r->place.run, r->place.rundir);
	rused_connect(r);
	if (!rc)
		rc = gsi_init(&r->gsi, &r->loop, r->host.page, &r->umads);
	if (!rc)
		rc = cmfiles_init(&r->ucma);
	if (!rc)
		rc = devices_init(&r->devices);
	/* Listen last: a client needs everything else as soon as it can connect. */
	if (!rc)
		rc = listener_open(&r->listener);
	if (!rc)
		place_watch(&r->place);
	if (!rc && r->idle)
		rc = timer_set(&r->loop.timers, &r->idle_timer, r->loop.now + r->idle);
	return rc;
}

/* Called after each round of the event loop (loop.c). */
static void after_round(struct loop *l)
{
	clients_reap(l);
	devices_settle(&container_of(l, struct rused, loop)->devices);
	fabrics_settle(&container_of(l, struct rused, loop)->fabrics);
	gsi_settle(&container_of(l, struct rused, loop)->gsi);
	cmfiles_flush(&container_of(l, struct rused, loop)->ucma);
}

/*
 * Runs until rused must exit: a signal asks for it, the loop fails, or rused is idle and no client
 * connects before it stops listening.
 */
static int rused_serve(struct rused *r)
{
	bool forced;
	int rc;

	do {
		r->loop.stop = false;
		rc = loop_run(&r->loop, after_round);
		forced = rc || (r->drain && r->processes.count);
	} while (!forced && !clients_leave(r));
	return rc;
}

static void rused_teardown(struct rused *r)
{
	/* If false, the files in the run directory belong to another rused and stay. */
	bool ours = place_ours(&r->place);

	place_unwatch(&r->place);
	loop_del(&r->loop, &r->listener.sock);
	listener_unlink(&r->listener);
	orphans_fini(&r->orphans, r->place.run, ours);
	clients_close_all(r);
	if (ours)
		explain_save(&r->explain, &r->processes, r->host.page, r->loop.now, r->place.run);
	explain_fini(&r->explain);
	runs_fini(&r->runs);
	blame_fini(&r->blame);
	fabrics_fini(&r->fabrics);
	cmfiles_fini(&r->ucma);
	gsi_fini(&r->gsi);
	umads_fini(&r->umads);
	port_fini(&r->port);
	hostnet_fini(&r->net);
	host_fini(&r->host, ours);
	cgroup_fini(&r->cgroup);
	loop_del(&r->loop, &r->signals);
	loop_fini(&r->loop);
	place_leave(&r->place);
}

/*
 * With --foreground a terminal or a service manager has rused where it wants it. The rused of `ruse run
 * --own` must end with its program tree, also if that is killed.
 */
static bool cgroup_wanted(const struct rused *r, const struct options *o)
{
	return !o->foreground && !ipc_rundir_is_own(r->place.rundir);
}

int main(int argc, char **argv)
{
	struct options o = { .idle = IDLE_DEFAULT };
	static struct rused r;
	int rc;

	options_parse(argc, argv, &o);
	log_init("rused", STDERR_FILENO);
	if (!listener_given(&r.listener)) {
		log_err("the service manager has passed no listening socket of type SEQPACKET; "
			"compare the unit with ruse.socket");
		return 1;
	}
	reset_process();
	rc = place_open(&r.place, o.rundir);
	if (rc) {
		log_err("cannot use the run directory %s: %s", o.rundir ? o.rundir : r.place.rundir,
			strerror(-rc));
		return 1;
	}
	rc = place_take(&r.place);
	if (rc < 0)
		log_err("cannot lock %s, and the rused that holds the lock does not answer: %s",
			r.place.rundir, strerror(-rc));
	/* Not an error where programs start rused at the same time. By hand or in a unit nothing would be served. */
	if (!rc)
		fprintf(stderr, "rused: rused (pid %d) serves %s already\n", r.place.other, r.place.rundir);
	if (rc <= 0)
		return rc < 0 || o.foreground;
	rc = place_log(&r.place, o.foreground);
	if (rc) {
		log_err("cannot open %s/" IPC_LOG_NAME ": %s", r.place.rundir, strerror(-rc));
		return 1;
	}
	rc = rused_setup(&r, &o);
	if (!rc) {
		place_up(&r.place, r.spare);
		if (cgroup_wanted(&r, &o))
			cgroup_leave(&r.cgroup);
		rc = rused_serve(&r);
	} else if (!o.foreground) {
		/* The program that has started rused reads standard error and reports this line. */
		if (*r.devices.failure)
			dprintf(STDERR_FILENO, "rused: error: %s=%.60s: %s\n", r.devices.failed,
				getenv(r.devices.failed) ?: "", r.devices.failure);
		else
			dprintf(STDERR_FILENO, "rused: error: cannot start in %s: %s\n",
				r.place.rundir, rc == -ENOSYS ? FDS_MEMORY_REFUSED : strerror(-rc));
	}
	if (rc)
		log_err("exiting: %s", strerror(-rc));
	rused_teardown(&r);
	/* This may take long, so it is done last, when no program waits for this rused. */
	leftovers_remove(&rused_leftovers_ops, r.place.rundir);
	return rc != 0;
}
