/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies to and from a peer's arena, and peers that publish something else than an arena: then nothing is mapped, and
 * the operation is done by cross-memory attach. Requester and target are two endpoints of one process.
 */
#include <fcntl.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "arena/arena.h"
#include "arena/testing.h"
#include "arena/calls.h"
#include "base/memfd.h"
#include "base/sys.h"
#include "base/tuning.h"
#include "link/testing.h"

#define DQPN (5u << 14 | 17)
#define SQPN 0x8012u
#define KEY (9u << 8 | 0x5a)
#define LEN 100000u
#define ACCESS (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ)

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct qp_card card;
	struct key_card key;

	assert_true(arena_open(8 << 20, ARENA_WIDE, NULL));
	r->mem = arena_alloc(LEN, PAGE, ARENA_ALIGNED, true);
	r->src = malloc(LEN);
	memset(r->src, 0x11, LEN);
	memset(r->mem, 0, LEN);
	card = (struct qp_card){
		.qpn = DQPN, .state = 3, .epsn = 0, .pd = 3, .access = ACCESS, .dest_qpn = SQPN,
		.path_mtu = 4096,
	};
	key = (struct key_card){
		.key = KEY, .pd = 3, .start = (uintptr_t)r->mem, .iova = 0x10000, .length = LEN,
		.access = ACCESS, .shared = (uintptr_t)r->mem - arena_base + 1,
	};
	rig_open(r, &card, &key);
	shm_publish_memory(r->a.ep);
	shm_publish_memory(r->b.ep);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	rig_close(r);
	free(r->src);
	free(r);
	t_arena_close();
	return 0;
}

static struct shm_link *rig_link(struct rig *r)
{
	return (struct shm_link *)r->l;
}

/* One operation on the first len bytes from offset `at` of the MR. */
static enum direct_result rig_do(struct rig *r, bool read, uint32_t at, uint32_t len)
{
	struct iovec iov = { r->src, len };
	struct direct_op op = {
		.read = read, .dqpn = DQPN, .sqpn = SQPN, .psn = r->card->epsn,
		.npkts = seg_pkts(len, 4096), .va = 0x10000 + at, .rkey = KEY, .len = len,
		.iov = &iov, .niov = 1,
	};

	return r->l->ops->direct(r->l, &op);
}

static void test_copies(void **state)
{
	struct rig *r = *state;

	assert_int_equal(rig_do(r, false, 16, 3000), DIRECT_DONE);
	assert_int_equal(rig_link(r)->nextents, 1);
	assert_int_equal(r->mem[15], 0);
	assert_memory_equal(r->mem + 16, r->src, 3000);
	assert_int_equal(r->mem[3016], 0);
	memset(r->mem, 0x77, LEN);
	assert_int_equal(rig_do(r, true, 0, LEN), DIRECT_DONE);
	assert_memory_equal(r->src, r->mem, LEN);
}

/* A dead peer's arena is not kept for the QPs that are still connected to it. */
static void test_death(void **state)
{
	struct rig *r = *state;

	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_DONE);
	assert_int_equal(rig_link(r)->nextents, 1);
	node_stop(&r->b);
	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_NO);
	node_turn(&r->a, 0);
	assert_true(r->l->dead);
	assert_int_equal(rig_link(r)->nextents, 0);
	node_start(&r->b);
}

/* The memfd decides, not the address: the program has unmapped the memory under a live MR. */
static void test_unmapped(void **state)
{
	struct rig *r = *state;

	arena_pin(r->key->shared - 1, LEN);
	memset(r->mem, 0x55, LEN);
	arena_munmap((uintptr_t)r->mem, ALIGN_UP(LEN, PAGE));
	assert_int_equal(rig_do(r, true, 0, LEN), DIRECT_DONE);
	for (uint32_t i = 0; i < LEN; i++)
		assert_int_equal(r->src[i], 0x55);
	arena_unpin(r->key->shared - 1, LEN);
}

/* Does an operation with what the peer publishes now; it must not use a mapping. */
static void not_mapped(struct rig *r)
{
	struct shm_link *l = rig_link(r);

	l->map_wait = 0;
	shm_map_close(l);
	memset(r->mem, 0, LEN);
	memset(r->src, 0x22, LEN);
	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_DONE);
	assert_int_equal(l->nextents, 0);
	assert_memory_equal(r->mem, r->src, 3000);
}

static void not_mapped_fd(struct rig *r, int fd)
{
	struct stat st = { 0 };

	fstat(fd, &st);
	r->b.ep->pub->mem_fd = fd;
	r->b.ep->pub->mem_ino = st.st_ino;
	not_mapped(r);
}

static void test_hostile_pub(void **state)
{
	struct rig *r = *state;
	struct shm_pub *pub = r->b.ep->pub;
	const uint64_t size = pub->mem_size, ino = pub->mem_ino;
	static const uint64_t sizes[] = {
		0, (8 << 20) + 1, 1ull << 40, (1ull << 40) + 1, 1ull << 63, UINT64_MAX
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		pub->mem_size = sizes[i];
		not_mapped(r);
	}
	pub->mem_size = size;
	pub->mem_ino++;
	not_mapped(r);
	pub->mem_ino = ino;
	rig_link(r)->map_wait = 0;
	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_DONE);
	assert_int_equal(rig_link(r)->nextents, 1);
}

static void test_hostile_fd(void **state)
{
	struct rig *r = *state;
	char path[] = "/tmp/ruse-test-XXXXXX";
	static const int seals[] = { F_SEAL_WRITE, F_SEAL_FUTURE_WRITE };
	int fd[16] = { -1, 1 << 30 }, pipes[2], n = 2;

	fd[n++] = mkstemp(path);
	unlink(path);
	assert_int_equal(ftruncate(fd[2], 8 << 20), 0);
	fd[n++] = memfd_create("unsealed", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd[3], 8 << 20), 0);
	fd[n++] = memfd_create("growing", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd[4], 8 << 20), 0);
	assert_int_equal(fcntl(fd[4], F_ADD_SEALS, F_SEAL_GROW), 0);
	fd[n++] = memfd_sealed("small", 4 << 20);
	assert_int_equal(pipe(pipes), 0);
	fd[n++] = pipes[0];
	fd[n++] = open("/dev/zero", O_RDWR);
	fd[n++] = open("/", O_RDONLY | O_DIRECTORY);
	fd[n++] = open("/proc/self/exe", O_PATH | O_NOFOLLOW);
	fd[n++] = socket(AF_UNIX, SOCK_STREAM, 0);
	fd[n++] = dup(r->b.ep->evfd);
	/* These could be mapped for reading only. */
	for (uint32_t i = 0; i < ARRAY_SIZE(seals); i++) {
		fd[n] = memfd_create("sealed", MFD_ALLOW_SEALING);
		assert_int_equal(ftruncate(fd[n], 8 << 20), 0);
		assert_int_equal(fcntl(fd[n++], F_ADD_SEALS, F_SEAL_SHRINK | seals[i]), 0);
	}
	for (int i = 0; i < n; i++)
		not_mapped_fd(r, fd[i]);
	for (int i = 2; i < n; i++)
		close(fd[i]);
	close(pipes[1]);
}

/* An open() of a FIFO waits for the other end. */
static void test_fifo(void **state)
{
	char dir[] = "/tmp/ruse-test-XXXXXX", path[sizeof(dir) + 8];
	int fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_PATH);
	assert_true(fd >= 0);
	alarm(60);
	not_mapped_fd(*state, fd);
	close(fd);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	not_mapped_fd(*state, fd);
	alarm(0);
	close(fd);
	unlink(path);
	rmdir(dir);
}

/* A file that is no memfd is not even opened: that could block. */
static void test_not_opened(void **state)
{
	char path[] = "/tmp/ruse-test-XXXXXX", event[512];
	int fd = mkstemp(path), watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	not_mapped_fd(*state, fd);
	assert_int_equal(read(watch, event, sizeof(event)), -1);
	close(watch);
	close(fd);
	unlink(path);
}

/* An offset outside the mapping is not used. */
static void test_hostile_offset(void **state)
{
	static const uint64_t offs[] = { (8 << 20) - 2999, 8 << 20, UINT32_MAX, 1ull << 63,
					 UINT64_MAX - 3000, UINT64_MAX };
	struct rig *r = *state;

	for (uint32_t i = 0; i < ARRAY_SIZE(offs); i++) {
		r->key->shared = offs[i] + 1 ? offs[i] + 1 : UINT64_MAX;
		memset(r->mem, 0, LEN);
		memset(r->src, 0x33, LEN);
		assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_DONE);
		assert_memory_equal(r->mem, r->src, 3000);
	}
	assert_int_equal(rig_link(r)->nextents, 0);
}

/* The peer has withdrawn the key, and what else was in its card is still there. */
static void test_withdrawn(void **state)
{
	struct rig *r = *state;

	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_DONE);
	memset(r->mem, 0, 3000);
	r->key->key = 0;
	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_NO);
	assert_int_equal(rig_do(r, true, 0, 3000), DIRECT_NO);
	r->key->key = KEY;
	r->key->lock.word = 1;
	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_NO);
	assert_int_equal(r->mem[0], 0);
	assert_int_equal(r->src[0], 0x11);
}

static uint64_t rig_mapped(struct rig *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < rig_link(r)->nextents; i++)
		sum += rig_link(r)->extent[i].len;
	return sum;
}

/* The arena of a rig with much memory in it. */
static void setup_large(struct rig *r, uint64_t size)
{
	rig_close(r);
	t_arena_close();
	assert_true(arena_open(size, ARENA_WIDE, NULL));
	r->mem = arena_alloc(size / 4 * 3, PAGE, ARENA_ALIGNED, false);
	assert_non_null(r->mem);
	rig_open(r, &(struct qp_card){ .qpn = DQPN, .state = 3, .pd = 3, .access = ACCESS,
				       .dest_qpn = SQPN, .path_mtu = 4096 },
		 &(struct key_card){ .key = KEY, .pd = 3, .start = (uintptr_t)r->mem,
				     .iova = 0x10000, .length = size / 4 * 3, .access = ACCESS,
				     .shared = (uintptr_t)r->mem - arena_base + 1 });
	shm_publish_memory(r->b.ep);
}

/* WRITEs a byte to a page that exists, and reads it back by the owner's mapping. */
static void rig_byte(struct rig *r, uint64_t at)
{
	r->mem[at] = 0;
	r->src[0] ^= 0xff;
	assert_int_equal(rig_do(r, false, (uint32_t)at, 1), DIRECT_DONE);
	assert_int_equal(r->mem[at], r->src[0]);
}

/* A link maps what it uses, in few steps, and never more entries than it has. */
static void test_extents(void **state)
{
	struct rig *r = *state;
	const uint64_t size = 256 << 20, step = 2 << 20;
	struct shm_link *l;

	setup_large(r, size);
	l = rig_link(r);
	rig_byte(r, 0);
	assert_in_range(rig_mapped(r), step, 2 * step);
	/* A buffer that is used from its start to its end. */
	for (uint64_t at = 0; at < size / 4; at += step / 4)
		rig_byte(r, at);
	assert_int_equal(l->nextents, 1);
	assert_in_range(rig_mapped(r), size / 4, size / 2 + 2 * step);
	assert_true(l->map_moves < 10);
	/* And one from its end to its start, elsewhere. */
	shm_map_close(l);
	for (uint64_t at = size / 2; at >= size / 4; at -= step / 4)
		rig_byte(r, at);
	assert_int_equal(l->nextents, 1);
	assert_true(l->map_moves < 20);
	/* More places than entries. */
	shm_map_close(l);
	for (uint64_t i = 0; i < 2 * SHM_EXTENTS; i++)
		rig_byte(r, i * (4 * step + PAGE));
	assert_in_range(l->nextents, 1, SHM_EXTENTS);
	for (uint64_t i = 0; i < 2 * SHM_EXTENTS; i++)
		rig_byte(r, i * (4 * step + PAGE));
	assert_in_range(rig_mapped(r), 16 * step, size);
	/* Never two entries for one byte. */
	for (uint32_t i = 0; i < l->nextents; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_true(l->extent[i].off + l->extent[i].len < l->extent[j].off ||
				    l->extent[j].off + l->extent[j].len < l->extent[i].off);
}

static uint64_t memfd_blocks(void)
{
	struct stat st;

	assert_int_equal(fstat(arena_span().fd, &st), 0);
	return (uint64_t)st.st_blocks;
}

/* A page that the owner has not touched is left to the owner, for WRITE and READ, and whatever pages are around it. */
static void test_absent(void **state)
{
	struct rig *r = *state;
	uint64_t before;

	setup_large(r, 256 << 20);
	before = memfd_blocks();
	assert_int_equal(rig_do(r, false, 16 * PAGE, 8), DIRECT_NO);
	assert_int_equal(rig_do(r, true, 16 * PAGE, 8), DIRECT_NO);
	assert_int_equal(rig_link(r)->nextents, 1);
	r->mem[16 * PAGE] = 1;
	r->mem[17 * PAGE] = 1;
	assert_int_equal(memfd_blocks(), before + 2 * PAGE / 512);
	assert_int_equal(rig_do(r, false, 16 * PAGE, 2 * PAGE), DIRECT_DONE);
	assert_int_equal(rig_do(r, false, 15 * PAGE, PAGE + 1), DIRECT_NO);
	assert_int_equal(rig_do(r, false, 15 * PAGE, 8), DIRECT_NO);
	assert_int_equal(rig_do(r, true, 17 * PAGE, PAGE + 1), DIRECT_NO);
	assert_int_equal(rig_do(r, true, 16 * PAGE, 2 * PAGE), DIRECT_DONE);
	/* Many pages, of which one does not exist. */
	memset(r->mem + 100 * PAGE, 1, 20 * PAGE);
	assert_int_equal(rig_do(r, false, 100 * PAGE, 20 * PAGE), DIRECT_DONE);
	assert_int_equal(rig_do(r, false, 100 * PAGE, 20 * PAGE + 1), DIRECT_NO);
	assert_int_equal(rig_do(r, false, 99 * PAGE, 3 * PAGE), DIRECT_NO);
	assert_int_equal(memfd_blocks(), before + 22 * PAGE / 512);
}

static void punch(struct rig *r, uint64_t at)
{
	assert_int_equal(fallocate(arena_span().fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   (off_t)(r->key->shared - 1 + at), PAGE), 0);
}

/* mincore() is asked once for many copies, to whatever pages of a group. A page that goes unannounced is not noticed. */
static void test_absent_remembered(void **state)
{
	struct rig *r = *state;
	uint64_t group;
	uint32_t done = 0;

	setup_large(r, 256 << 20);
	group = ALIGN_UP(r->key->shared - 1, 64 * PAGE) - (r->key->shared - 1);
	memset(r->mem, 1, 256 * PAGE);
	punch(r, group);
	assert_int_equal(rig_do(r, false, (uint32_t)group, 8), DIRECT_NO);
	r->mem[group] = 1;
	while (rig_do(r, false, (uint32_t)(group + done % 60 * PAGE), 8) == DIRECT_DONE) {
		punch(r, group + (done + 1) % 60 * PAGE);
		assert_true(++done <= 2 * TUNE_SELDOM);
	}
	assert_int_equal(done, TUNE_SELDOM + 1);
}

/* What the owner takes away by a call of the program is noticed at once, even if the page is there again at times. */
static void test_absent_counted(void **state)
{
	struct rig *r = *state;
	uint64_t before;

	setup_large(r, 256 << 20);
	memset(r->mem, 1, 8 * PAGE);
	before = memfd_blocks();
	for (uint32_t i = 1; i < 8; i++) {
		assert_int_equal(rig_do(r, false, i * PAGE, 8), DIRECT_DONE);
		assert_int_equal(arena_madvise((uintptr_t)r->mem + i * PAGE, PAGE, MADV_DONTNEED),
				 0);
		assert_int_equal(rig_do(r, false, i * PAGE, 8), DIRECT_NO);
		assert_int_equal(rig_do(r, true, i * PAGE, 8), DIRECT_NO);
		assert_int_equal(rig_do(r, false, 0, 8), DIRECT_DONE);
		assert_int_equal(memfd_blocks(), before - i * PAGE / 512);
	}
}

/* Where nothing more can be mapped, cross-memory attach does it, and attempts to map are rare. */
static void test_no_addresses(void **state)
{
	struct rig *r = *state;
	struct rlimit old, none;

	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	none = (struct rlimit){ 1 << 20, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	for (uint32_t i = 0; i < 2 * TUNE_RARELY; i++)
		assert_int_equal(rig_do(r, false, 16, 3000), DIRECT_DONE);
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	assert_memory_equal(r->mem + 16, r->src, 3000);
	assert_int_equal(rig_link(r)->nextents, 0);
	assert_int_equal(rig_link(r)->map_fails, 2);
	for (uint32_t i = 0; i < 2 * TUNE_RARELY; i++)
		assert_int_equal(rig_do(r, false, 16, 3000), DIRECT_DONE);
	assert_int_equal(rig_link(r)->nextents, 1);
}

/* The arena may appear after the link: a peer looks for it at each copy until there is one. */
static void test_late(void **state)
{
	struct rig *r = *state;

	r->b.ep->pub->mem_size = 0;
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_DONE);
		assert_int_equal(rig_link(r)->nextents, 0);
	}
	shm_publish_memory(r->b.ep);
	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_DONE);
	assert_int_equal(rig_link(r)->nextents, 1);
}

/* What a peer may write beside its card and memfd while they are read, without regard to the sequence count. */
__attribute__((no_sanitize("thread"))) static void *scribble(void *arg)
{
	static const uint64_t offs[] = { 0, 1, (8 << 20) - 100, 8 << 20, 1ull << 63, UINT64_MAX };
	static const uint64_t sizes[] = { 8 << 20, 0, 4096, 1ull << 40, UINT64_MAX };
	static const uint64_t lens[] = { LEN, 0, 8, UINT64_MAX };
	struct rig *r = arg;
	struct prng g;

	prng_seed(&g, 1);
	while (!smp_load_acquire(&r->stop)) {
		WRITE_ONCE(r->key->shared, offs[prng_below(&g, ARRAY_SIZE(offs))]);
		WRITE_ONCE(r->key->length, lens[prng_below(&g, ARRAY_SIZE(lens))]);
		WRITE_ONCE(r->key->iova, prng_below(&g, 2) ? 0x10000 : 0xf000);
		WRITE_ONCE(r->key->access, prng_below(&g, 4) ? ACCESS : 0);
		WRITE_ONCE(r->key->lock.word, (uint32_t)prng_below(&g, 3));
		WRITE_ONCE(r->b.ep->pub->mem_size, sizes[prng_below(&g, ARRAY_SIZE(sizes))]);
		WRITE_ONCE(r->b.ep->pub->mem_base, prng_u64(&g));
		WRITE_ONCE(r->b.ep->pub->mem_fd, (int)prng_below(&g, 20));
	}
	return NULL;
}

/* Only the peer's memory and the local buffer are written, whatever the peer changes meanwhile. */
static void test_scribble(void **state)
{
	struct rig *r = *state;
	uint8_t *own = calloc(1, 3 * LEN);
	pthread_t t;

	free(r->src);
	r->src = own + LEN;
	r->stop = false;
	assert_int_equal(pthread_create(&t, NULL, scribble, r), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		struct shm_link *l = rig_link(r);

		if (i % 100 == 0)
			shm_map_close(l);
		l->map_wait = 0;
		rig_do(r, i % 2, i % 5000, 1 + i % 3000);
	}
	smp_store_release(&r->stop, true);
	pthread_join(t, NULL);
	for (uint32_t i = 0; i < LEN; i++)
		assert_true(!own[i] && !own[2 * LEN + i] && (i < 3001 || !own[LEN + i]));
	free(own);
	r->src = NULL;
}

#ifndef __SANITIZE_THREAD__
/* A SEND by reference to the arena, when the peer says that this is its address. */
static void rig_send(struct rig *r, uint64_t base, uint8_t byte)
{
	struct iovec iov = { r->mem, LEN };
	struct seg s = t_seg(SEG_SEND, &iov, 1, byte);
	uint32_t before = READ_ONCE(r->b.nseg);

	WRITE_ONCE(r->a.ep->pub->mem_base, base);
	memset(r->mem, byte, LEN);
	memset(r->b.buf, 0, LEN);
	assert_int_equal(r->l->ops->send(r->l, &s), 0);
	while (smp_load_acquire(&r->b.nseg) == before)
		usleep(100);
	assert_true(r->b.last_pull);
	assert_int_equal(r->b.last_rc, 0);
	assert_memory_equal(r->b.buf, r->mem, LEN);
}

/* Addresses that are not all in the mapping are read by cross-memory attach. */
static void test_references(void **state)
{
	struct rig *r = *state;
	const uint64_t base = arena_base, at = (uintptr_t)r->mem;
	struct shm_link *l = list_first_entry(&r->b.ep->links, struct shm_link, list);

	arena_pin(at - base, LEN);
	rig_send(r, base, 1);
	assert_int_equal(l->nextents, 1);
	rig_send(r, 0, 2);
	rig_send(r, UINT64_MAX, 3);
	rig_send(r, at + 1, 4);
	rig_send(r, at + LEN - 1 - (8 << 20), 5);
	rig_send(r, at - (8 << 20), 6);
	rig_send(r, at - (1ull << 63), 7);
	arena_unpin(at - base, LEN);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_death, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unmapped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_pub, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_fd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_opened, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_offset, setup, teardown),
/* ThreadSanitizer does not see that a ring which is mapped twice orders the accesses of its two ends. */
#ifndef __SANITIZE_THREAD__
		cmocka_unit_test_setup_teardown(test_references, setup, teardown),
#endif
		cmocka_unit_test_setup_teardown(test_withdrawn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scribble, setup, teardown),
		cmocka_unit_test_setup_teardown(test_extents, setup, teardown),
		cmocka_unit_test_setup_teardown(test_absent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_absent_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_absent_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
