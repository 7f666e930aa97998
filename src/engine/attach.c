/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaching to rused: the process connects, sends IPC_HELLO and shares memory with rused. The
 * process page (struct proc_page) is written by this process: counters and what `ruse status`
 * shows. The host page (struct host_page) is written by rused: devices, fault rules and captures.
 * When rused has changed the host page, it writes to the notify socket.
 *
 * The connection may break at any time, for example when rused is killed. Data paths continue.
 * The next command that needs rused connects again and starts rused if none runs. The progress
 * thread also reconnects, but does not start rused. A new rused is told of the QP number
 * blocks and contexts of this process (attach_renew()).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "base/fds.h"
#include "base/log.h"
#include "base/memfd.h"
#include "base/sys.h"
#include "engine/captures.h"
#include "engine/checks.h"
#include "engine/engine_internal.h"
#include "engine/events.h"
#include "engine/explain.h"
#include "engine/faults.h"
#include "engine/ib_path.h"
#include "engine/lease.h"
#include "engine/shakes.h"
#include "engine/stuck.h"
#include "engine/tally.h"
#include "engine/wire.h"
#include "ipc/attach.h"
#include "ipc/fabric_msg.h"
#include "ipc/res.h"
#include "ipc/version.h"
#include "verbs/verbs.h"

const struct host_dev *host_dev_by_minor(const struct host_page *copy, uint32_t minor)
{
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (copy->dev[i].in_use && copy->dev[i].minor == minor &&
		    copy->dev[i].ib.host == engine.fabric_host)
			return &copy->dev[i];
	return NULL;
}

static int proc_page_create(void)
{
	int fd, ret;
	void *p;

	if (engine.proc_page)
		return 0;
	fd = own_fd(fds_memory("ruse-proc", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (fd < 0)
		return fd;
	ret = memfd_grow(fd, RES_OFFSET);
	if (!ret)
		ret = sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	if (ret < 0)
		goto fail;
	ret = -ENOMEM;
	p = mmap(NULL, RES_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		goto fail;
	engine.proc_page = p;
	engine.why_log = (struct why_log *)((char *)p + WHY_OFFSET);
	engine.proc_page->magic = PROC_PAGE_MAGIC;
	engine.proc_page->version = IPC_VERSION;
	engine.proc_fd = fd;
	return res_init(fd);
fail:
	own_close(fd);
	return ret;
}

static int host_page_map(int fd)
{
	void *p;

	if (memfd_check(fd, sizeof(struct host_page)))
		return -EPROTO;
	p = memfd_map(fd, sizeof(struct host_page), false);
	if (!p)
		return -ENOMEM;
	if (engine.host_page)
		munmap((void *)engine.host_page, sizeof(struct host_page));
	engine.host_page = p;
	return 0;
}

void own_comm(char *comm, size_t size)
{
	int fd = sys_openat(AT_FDCWD, "/proc/self/comm", O_RDONLY | O_CLOEXEC, 0);
	char line[17];	/* 15 characters and a newline */
	ssize_t n = fd < 0 ? 0 : sys_read(fd, line, sizeof(line));

	if (fd >= 0)
		sys_close(fd);
	line[n > 0 ? n - 1 : 0] = 0;
	/* Without /proc: the name by which it was started. */
	snprintf(comm, size, "%.15s", n > 0 ? line : program_invocation_short_name);
}

/*
 * Event on engine.notify: rused has changed the host page (struct host_page: devices, fault rules, captures), or has
 * opened UDP port 4791.
 */
static void notify_event(struct link_fd *fd, uint32_t events)
{
	uint64_t n;

	sys_read(engine.notify, &n, sizeof(n));
	page_look();
	lease_sockets();
	stuck_look();
}

/* Replace the notify socket of a former rused by the one of this rused. */
static void notify_watch(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &engine.notify_fd };

	if (engine.notify >= 0)
		own_close(engine.notify);
	engine.notify = own_fd(fd);
	engine.notify_fd.event = notify_event;
	if (engine.notify >= 0)
		sys_call(SYS_epoll_ctl, engine.epfd, EPOLL_CTL_ADD, engine.notify, &ev);
}

/* The host of a fabric that RUSE_HOST names. NULL: none. */
static const char *attach_host_name(void)
{
	const char *name = getenv("RUSE_HOST");

	return name && *name ? name : NULL;
}

/* With RUSE_HOST the process sees the devices of that host instead of those of the machine. */
static int attach_host(void)
{
	const char *name = attach_host_name();
	struct ipc_fabric_host h;
	struct ipc_msg m = { .type = IPC_HOST, .req = name, IPC_ANSWER(&h) };
	int ret;

	if (!name) {
		snprintf(engine.sysfs, sizeof(engine.sysfs), "%s/sys", engine.rundir);
		engine.fabric_host = 0;
		return 0;
	}
	m.len = strlen(name);
	ret = ipc_call(&engine.conn, &m);
	if (ret || m.rlen != sizeof(h) || !memchr(h.root, 0, sizeof(h.root)))
		return ret ? ret : -EPROTO;
	engine.fabric_host = h.host;
	snprintf(engine.sysfs, sizeof(engine.sysfs), "%s/sys", h.root);
	return 0;
}

/* Only a rused that starts reads RUSE_NETDEV: warn if the one that runs was started with another value. */
static void attach_check_netdevs(const struct ipc_hello_reply *r)
{
	const char *want = getenv("RUSE_NETDEV");
	int n = (int)strnlen(r->netdevs, sizeof(r->netdevs));
	static bool told;

	if (told || !want || !*want || engine.fabric_host ||
	    !strncmp(want, r->netdevs, sizeof(r->netdevs) - 1))
		return;
	told = true;
	log_warn("RUSE_NETDEV=%.63s has no effect: rused (pid %u) was started %s%.*s; `ruse stop` ends it when its "
		 "last program has ended, and the next program starts one with these interfaces",
		 want, r->pid, n ? "with " : "without it", n, r->netdevs);
}

/*
 * Takes what the devices are like. It does not change while this process has devices, even if another rused tells another
 * like. -EPROTO: it is none.
 */
static int attach_like(const struct ipc_hello_reply *r)
{
	const char *want = getenv("RUSE_LIKE");
	int n = (int)strnlen(r->like_spec, sizeof(r->like_spec));
	static bool told;
	struct like like;

	memcpy(like.name, r->like_name, sizeof(like.name));
	memcpy(&like.driver, r->like_value, sizeof(r->like_value));
	if (!like_valid(&like))
		return -EPROTO;
	if (list_empty(&engine.devs)) {
		engine.like = like;
		likewrap_use(like.name[0]);
		tally_link(engine.loop);
	}
	if (!told && want && *want && strncmp(want, r->like_spec, sizeof(r->like_spec) - 1)) {
		told = true;
		log_warn("RUSE_LIKE=%.63s has no effect: rused (pid %u) was started %s%.*s; `ruse stop` ends it when "
			 "its last program has ended", want, r->pid, n ? "with " : "without it", n, r->like_spec);
	}
	return 0;
}

static int attach_hello(void)
{
	struct ipc_hello h = { .pid = (int32_t)sys_call(SYS_getpid), .proc = engine.proc,
			       .run = engine.run };
	struct ipc_hello_reply r;
	int fds[IPC_MAX_FDS], own[3] = { engine.proc_fd }, ret;
	struct ipc_msg m = { IPC_REQ(IPC_HELLO, &h), .fds = own,
			     .nfds = 1 + wire_park(own + 1), IPC_ANSWER(&r), IPC_RFDS(fds) };
	struct stat st;

	if (sys_call(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/net", &st, 0) == 0)
		h.netns = st.st_ino;
	if (sys_call(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &st, 0) == 0)
		h.pidns = st.st_ino;
	own_comm(h.comm, sizeof(h.comm));
	if (engine.ep)
		snprintf(h.sock, sizeof(h.sock), "%s", shm_ep_sock(engine.ep));
	ret = ipc_call(&engine.conn, &m);
	if (ret)
		return ret;
	/*
	 * Before the page of a new rused replaces that of the former one: the new rused may not have the
	 * fabric yet, and the devices must not be taken for removed.
	 */
	ret = m.rlen == sizeof(r) && m.nrfds >= 2 ? attach_like(&r) : -EPROTO;
	if (!ret)
		ret = attach_host();
	if (!ret)
		ret = host_page_map(fds[0]);
	if (!ret) {
		notify_watch(fds[1]);
		fds[1] = -1;
	}
	for (int i = 0; i < m.nrfds; i++)
		if (fds[i] >= 0)
			sys_close(fds[i]);
	if (ret)
		return ret;
	engine.proc = r.proc;
	attach_check_netdevs(&r);
	events_begin();
	faults_look();
	return 0;
}

/*
 * Tell a new rused what this process has: the blocks of QP numbers that an earlier rused leased to it, and its open
 * contexts.
 */
static int attach_renew(void)
{
	struct efile *ef;
	int ret = 0;

	for (uint32_t i = 0; i < engine.nblocks && !ret; i++) {
		struct ipc_lease l = { .block = engine.blocks[i],
				       .dev_index = engine.block_dev[engine.blocks[i]]->index };
		int fds[IPC_MAX_FDS];
		struct ipc_msg m = { IPC_REQ(IPC_LEASE, &l), IPC_ANSWER(&l),
				     IPC_RFDS(fds) };

		ret = ipc_call(&engine.conn, &m);
		if (!ret)
			wire_leased(engine.blocks[i], &l, fds, m.nrfds);
	}
	list_for_each_entry(ef, &engine.files, entry) {
		struct ipc_context c = { .dev_index = ef->edev->dev.index, .opened = 1 };

		if (!ret)
			ret = ipc_call(&engine.conn, &(struct ipc_msg){ IPC_REQ(IPC_CONTEXT, &c) });
	}
	return ret;
}

static int attach_endpoint(void)
{
	struct shm_cfg cfg = {
		.host = &engine_link_ops,
		.epfd = engine.epfd,
		.nkeys = DEV_MAX_KEY_INDEX + 1,
		.ncards = QPN_PER_BLOCK,
		.no_cma = engine.no_cma,
		.no_direct = engine.no_direct,
		.own_fd = own_fd,
		.own_close = own_close,
	};

	return shm_ep_create(&cfg, &engine.ep);
}

static bool attach_env_told;	/* what is wrong with the environment: attach_prepare() may be repeated */

static bool attach_env_set(const char *name)
{
	const char *v = getenv(name);

	if (!v || !*v || !strcmp(v, "0"))
		return false;
	if (strcmp(v, "1") && !attach_env_told)
		log_warn("%s=%s is neither 0 nor 1; it counts as 1", name, v);
	return true;
}

/* True if RUSE_LINK says that destinations inside this host are reached by UDP. */
static bool attach_env_link(void)
{
	const char *v = getenv("RUSE_LINK");

	if (v && *v && strcmp(v, "udp") && !attach_env_told)
		log_warn("RUSE_LINK=%s is not udp; it is ignored", v);
	return v && !strcmp(v, "udp");
}

/* The run of `ruse run --expect` that this process belongs to; 0: none. */
static uint64_t attach_env_run(void)
{
	const char *v = getenv("RUSE_RUN");

	return v ? strtoull(v, NULL, 16) : 0;
}

/* Set up what the first attach needs. The progress thread is not started before the first open. */
static int attach_prepare(void)
{
	long pid = sys_call(SYS_getpid);
	int ret;

	engine.no_cma = attach_env_set("RUSE_NO_CMA");
	engine.no_direct = shakes_begin() || attach_env_set("RUSE_NO_DIRECT");
	pollwrap_use(!attach_env_set("RUSE_NO_POLL_WRAP"));
	engine.run = attach_env_run();
	engine.explain = attach_env_set("RUSE_EXPLAIN");
	postwrap_use(engine.explain);
	verbs_use_setters();
	engine.strict_arm = attach_env_set("RUSE_STRICT_ARM");
	engine.wire_only = attach_env_link();
	attach_env_told = true;
	list_init(&engine.devs);
	list_init(&engine.files);
	list_init(&engine.work);
	list_init(&engine.blocked);
	list_init(&engine.err);
	timer_heap_init(&engine.timers);
	armed_init(&engine.armed, progress_asleep);
	checks_begin();
	engine.conn.fd = engine.notify = -1;
	engine.reattach_at = engine.sleep_until = NS_NEVER;
	wire_begin();
	engine.epfd = own_fd((int)sys_call(SYS_epoll_create1, EPOLL_CLOEXEC));
	if (engine.epfd < 0)
		return engine.epfd;
	engine.self = own_fd((int)sys_call(SYS_pidfd_open, pid, 0));
	ret = proc_page_create();
	if (!ret) {
		faults_begin();
		ret = attach_endpoint();
	}
	if (!ret) {
		engine.loop = link_loopback_create(&engine_link_ops, NULL);
		ret = engine.loop ? 0 : -ENOMEM;
	}
	/*
	 * Wrap the loop link for fabric paths before captures and faults wrap it: their wrappers must be the outer
	 * ones, which can be removed.
	 */
	if (!ret && attach_host_name())
		ib_path_wrap(engine.loop);
	if (ret)
		own_close(engine.epfd);
	return ret;
}

static void attach_tell_version(void)
{
	char text[320];

	ipc_version_text(&engine.conn, "libruse.so of this program", text, sizeof(text));
	log_err("%s", text);
}

/*
 * Log that rused cannot be reached, first the cause. Writes two messages, because each contains a path that may be
 * long.
 */
static void attach_tell_unreached(int err)
{
	char text[400];

	ipc_failure_text(&engine.failure, err, text, sizeof(text));
	log_err("cannot reach rused: %s", text);
	log_err("rused is %s%s%s; see `ruse doctor`", engine.host->rused_path,
		engine.rundir[0] ? ", its run directory " : "", engine.rundir);
}

/* The first call logs; later calls do nothing. */
void attach_tell(int err)
{
	static bool told;

	if (told)
		return;
	told = true;
	if (err == -EFBIG)
		return;		/* memfd_grow() has said why */
	if (err == -EPROTONOSUPPORT)
		attach_tell_version();
	else if (err == -ENOMEM || err == -EAGAIN)
		log_err("not enough memory or address space for RDMA devices: %s; check the limits "
			"ulimit -v, and ulimit -l if the program locks its memory",
			strerrordesc_np(-err));
	else if (err == -EMFILE)
		log_err("not enough descriptors for RDMA devices: raise the limit (RLIMIT_NOFILE, ulimit -n)");
	else if (err == -ENODEV)
		log_err("no fabric has a host %s (RUSE_HOST, ruse run --host); see `ruse fabric show`",
			attach_host_name());
	else if (err == -ENOSPC && attach_host_name())
		log_err("cannot add the devices of host %s: all %d ports are in use",
			attach_host_name(), HOST_MAX_DEVS);
	else if (err == -EPERM)
		log_err("the run directory must be a directory of this user with mode 0700; set "
			"RUSE_DIR to another one; see `ruse doctor`");
	else if (err == -ENOSYS)
		log_err("%s", FDS_MEMORY_REFUSED);
	else
		attach_tell_unreached(err);
}

/* The first messages of a connection. If rused ends between them, ipc_attach() looks for the next one. */
static int attach_hello_on(struct ipc_conn *c, void *arg)
{
	int ret;

	c->fd = own_fd(c->fd);
	ret = attach_hello();
	if (!ret)
		ret = attach_renew();
	if (ret)
		conn_close();
	return ret;
}

/* Connect to rused and exchange IPC_HELLO. start: start rused if none runs. */
static int attach_connect(bool start)
{
	int ret;

	conn_close();
	if (start)
		return ipc_attach(&engine.conn, engine.host->rused_path, engine.rundir,
				  sizeof(engine.rundir), attach_hello_on, NULL, &engine.failure);
	engine.failure = (struct ipc_failure){ 0 };
	/* A forked child has forgotten it. */
	ret = engine.rundir[0] ? 0 : ipc_rundir_there(engine.rundir, sizeof(engine.rundir));
	if (!ret)
		ret = ipc_connect(&engine.conn, engine.rundir);
	return ret ? ret : attach_hello_on(&engine.conn, NULL);
}

static int attach_both(bool start)
{
	int ret;

	if (!engine.attached) {
		ret = attach_prepare();
		if (ret)
			return ret;
		engine_guard();
		engine.attached = true;
	}
	ret = attach_connect(start);
	if (ret) {
		conn_close();
		return ret;
	}
	shm_ep_set_proc(engine.ep, engine.proc);
	captures_attached();
	engine.reattach_at = NS_NEVER;
	conn_watch();
	log_info("connected to the rused in %s as process %u", engine.rundir, engine.proc);
	return 0;
}

/* Holds the connection lock, so calls of other threads to rused wait meanwhile. */
static int attach_try(bool start)
{
	int ret;

	if (!conn_lock())
		return -EDEADLK;
	ret = attach_both(start);
	conn_unlock();
	return ret;
}

int attach_locked(void)
{
	int ret;

	if (likely(engine.attached && engine.conn.fd >= 0))
		return 0;
	ret = attach_try(true);
	if (ret)
		attach_tell(ret);
	return ret;
}

int attach_running(void)
{
	return engine.attached && engine.conn.fd >= 0 ? 0 : attach_try(false);
}

void attach_if_running(void)
{
	int ret = engine.attached && engine.conn.fd < 0 ? attach_try(false) : 0;

	/* A new rused of another version, or without the fabric: commands would fail without a message. */
	if (ret == -EPROTONOSUPPORT || (attach_host_name() && (ret == -ENODEV || ret == -ENOSPC)))
		attach_tell(ret);
}

int engine_attach(void)
{
	int ret;

	engine_check_fork();
	if (!engine_lock())
		return -EDEADLK;
	ret = engine.failed ? -EIO : attach_locked();
	engine_unlock();
	return ret;
}

const char *engine_sysfs(void)
{
	return engine.sysfs;
}

int engine_netlink(void)
{
	int fds[IPC_MAX_FDS], ret;
	struct rused_msg m = { .q = { .type = IPC_NETLINK, IPC_RFDS(fds) } };

	ret = rused_ask(&m);
	if (ret)
		return ret;
	for (int i = 1; i < m.q.nrfds; i++)
		sys_close(fds[i]);
	return m.q.nrfds ? fds[0] : -EPROTO;
}

bool engine_has_uverbs(uint32_t minor)
{
	const struct host_page *copy;
	bool has = false;

	if (!engine_attach() && engine_lock()) {
		copy = host_page_copy();
		has = copy && host_dev_by_minor(copy, minor);
		engine_unlock();
	}
	return has;
}

void engine_counters(void)
{
	struct rused_msg m = { .q = { .type = IPC_COUNTERS } };

	/* An error is ignored: without rused the files keep their last values. */
	rused_ask(&m);
}
