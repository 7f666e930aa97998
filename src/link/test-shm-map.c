/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies to and from a peer's arena, and peers that publish something else than an arena: then nothing is mapped, and
 * the operation is done by cross-memory attach. Requester and target are two endpoints of one process.
 */
#include <fcntl.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include "arena/arena.h"
#include "base/memfd.h"
#include "base/sys.h"
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

	assert_true(arena_open(8 << 20, NULL));
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
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	rig_close(r);
	free(r->src);
	free(r);
	arena_close();
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
	assert_non_null(rig_link(r)->mem);
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
	assert_non_null(rig_link(r)->mem);
	node_stop(&r->b);
	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_NO);
	node_turn(&r->a, 0);
	assert_true(r->l->dead);
	assert_null(rig_link(r)->mem);
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

	l->mem_tried = false;
	shm_map_close(l);
	memset(r->mem, 0, LEN);
	memset(r->src, 0x22, LEN);
	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_DONE);
	assert_null(l->mem);
	assert_true(l->mem_tried);
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
	rig_link(r)->mem_tried = false;
	assert_int_equal(rig_do(r, false, 0, 3000), DIRECT_DONE);
	assert_non_null(rig_link(r)->mem);
}

static void test_hostile_fd(void **state)
{
	struct rig *r = *state;
	char path[] = "/tmp/ruse-test-XXXXXX";
	int fd[8] = { -1, 1 << 30 }, pipes[2], n = 2;

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
	for (int i = 0; i < n; i++)
		not_mapped_fd(r, fd[i]);
	for (int i = 2; i < n; i++)
		close(fd[i]);
	close(pipes[1]);
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
	assert_non_null(rig_link(r)->mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_death, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unmapped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_pub, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_fd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_opened, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_offset, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
