/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of rings.c: ring placement, pages and the mappings that the program gets. Each test opens a
 * file of its own. A struct engine_ops whose own_fd() does nothing stands in for preload/.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "base/rand.h"
#include "base/sysmem.h"
#include "base/tuning.h"
#include "engine/engine_internal.h"
#include "engine/rings.h"

#define RINGS 64
#define FILES 300
#define TURNS 3000
#define LARGE 100
#define MANY 1000
#define LEFT (512u << 10)	/* bytes allowed besides the rings: pages ahead, and pages not yet freed */

static void own_nothing(int fd, bool own)
{
}

static void fresh(struct efile *ef)
{
	static struct rdev dev;
	static const struct engine_ops host = { .own_fd = own_nothing };

	engine_setup(&host);
	list_init(&engine.files);
	memset(ef, 0, sizeof(*ef));
	assert_int_equal(rings_init(ef), 0);
	ef->uctx.host = ef;
	ef->uctx.dev = &dev;
	ef->uctx.ops = &ring_ops;
}

/* The area has this size, and cannot grow. */
static void fixed(struct efile *ef, uint64_t size)
{
	fresh(ef);
	ef->map_size = ef->piece[0].size = size;
	ef->npieces = RING_PIECES;
}

/* A mapping of the descriptor by the program shows the ring and outlives it. */
static void native_mmap(void **state)
{
	struct efile ef;
	struct ring r;
	struct rxe_queue_buf *user;

	fresh(&ef);
	ring_layout(&r, 100, 64);
	assert_int_equal(ring_ops.ring_alloc(&ef.uctx, &r), 0);
	assert_true(r.offset >= 1ull << 30);
	user = mmap(NULL, r.buf_size, PROT_READ | PROT_WRITE, MAP_SHARED, ef.memfd,
		    (off_t)r.offset);
	assert_true(user != MAP_FAILED);
	assert_int_equal(user->index_mask, 127);
	assert_int_equal(1u << user->log2_elem_size, 64);
	user->producer_index = 5;
	assert_int_equal(ring_producer(&r), 5);
	ring_ops.ring_free(&ef.uctx, &r);
	assert_int_equal(user->producer_index, 0); /* the mapping is still valid and reads zeros */
	munmap(user, r.buf_size);
	rings_fini(&ef);
}

/* Random creates and destroys: live rings never overlap, and offsets start again instead of running out. */
static void no_overlap(void **state)
{
	struct ring ring[RINGS];
	bool live[RINGS] = { false };
	struct prng p;
	struct efile ef;
	uint64_t seed = rand_u32();

	print_message("seed %lu\n", (unsigned long)seed);
	prng_seed(&p, seed);
	fresh(&ef);
	for (int i = 0; i < TURNS; i++) {
		uint32_t k = prng_below(&p, RINGS);

		if (live[k]) {
			ring_ops.ring_free(&ef.uctx, &ring[k]);
			live[k] = false;
			continue;
		}
		ring_layout(&ring[k], 1 + prng_below(&p, 2000), 64 << prng_below(&p, 3));
		assert_int_equal(ring_ops.ring_alloc(&ef.uctx, &ring[k]), 0);
		live[k] = true;
		for (uint32_t o = 0; o < RINGS; o++)
			if (live[o] && o != k)
				assert_true(ring[o].offset >= ring[k].offset + ring[k].buf_size ||
					    ring[k].offset >= ring[o].offset + ring[o].buf_size);
	}
	assert_in_range(ef.map_size, 1, RINGS * 4ull << 20);
	rings_fini(&ef);
}

static void too_much(void **state)
{
	struct efile ef;
	struct ring a, b;

	fixed(&ef, 1 << 20);
	ring_layout(&a, 8000, 64);
	assert_int_equal(ring_ops.ring_alloc(&ef.uctx, &a), 0);
	ring_layout(&b, 16000, 64);
	assert_int_equal(ring_ops.ring_alloc(&ef.uctx, &b), -ENOMEM);
	ring_ops.ring_free(&ef.uctx, &a);
	rings_fini(&ef);
}

/* The reason of the last refusal. */
static uint32_t refused(const struct efile *ef)
{
	struct why *w = &ef->uctx.dev->fails.refused;
	uint32_t id = w->id;

	w->id = WHY_NONE;
	return id;
}

/* The rings of all files of the process count against the bound; those that are destroyed or whose file is closed do not. */
static void bound(void **state)
{
	struct efile a, b;
	struct ring r[2], large;

	setenv("RUSE_QUEUE_MEMORY", "1M", 1);
	fresh(&a);
	fresh(&b);
	list_add_tail(&a.entry, &engine.files);
	list_add_tail(&b.entry, &engine.files);
	ring_layout(&r[0], 8000, 64);
	ring_layout(&r[1], 4000, 64);
	ring_layout(&large, 16000, 64);
	assert_int_equal(ring_ops.ring_alloc(&a.uctx, &large), -ENOMEM);
	assert_int_equal(refused(&a), WHY_QUEUE_MEMORY);
	assert_int_equal(ring_ops.ring_alloc(&a.uctx, &r[0]), 0);
	assert_int_equal(ring_ops.ring_alloc(&b.uctx, &r[1]), 0);
	assert_int_equal(ring_ops.ring_alloc(&b.uctx, &r[0]), -ENOMEM);
	ring_ops.ring_free(&b.uctx, &r[1]);
	assert_int_equal(ring_ops.ring_alloc(&b.uctx, &r[1]), 0);
	list_del(&a.entry);
	rings_fini(&a);
	assert_int_equal(ring_ops.ring_alloc(&b.uctx, &r[0]), 0);
	list_del(&b.entry);
	rings_fini(&b);
	unsetenv("RUSE_QUEUE_MEMORY");
}

/* What the rings of the process may take, in KiB: told when a ring is refused because the others take too much. */
static uint64_t bound_told(struct efile *ef)
{
	struct ring r;

	refused(ef);
	ring_layout(&r, 100, 64);
	ef->ring_bytes += 1ull << 60;
	list_add_tail(&ef->entry, &engine.files);
	assert_int_equal(ring_ops.ring_alloc(&ef->uctx, &r), -ENOMEM);
	list_del(&ef->entry);
	ef->ring_bytes -= 1ull << 60;
	assert_int_equal(refused(ef), WHY_QUEUE_MEMORY);
	return ef->uctx.dev->fails.refused.arg[2];
}

/* Without RUSE_QUEUE_MEMORY, or if it is no size, a quarter of the memory. */
static void bound_usual(void **state)
{
	static struct sysmem m;
	struct efile ef;

	fresh(&ef);
	assert_int_equal(bound_told(&ef), max(sysmem_all(&m) / 4, RINGS_LEAST) >> 10);
	rings_fini(&ef);
	setenv("RUSE_QUEUE_MEMORY", "lots", 1);
	fresh(&ef);
	assert_int_equal(bound_told(&ef), max(sysmem_all(&m) / 4, RINGS_LEAST) >> 10);
	rings_fini(&ef);
	unsetenv("RUSE_QUEUE_MEMORY");
}

static uint64_t pages(const struct efile *ef)
{
	struct stat st;

	assert_int_equal(fstat(ef->memfd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/*
 * With many rings, pages are allocated ahead, every new ring is initialised, and pages of destroyed
 * rings are freed.
 */
static void many(void **state)
{
	static struct ring ring[MANY];
	struct efile ef;

	fresh(&ef);
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < MANY; i++) {
			ring_layout(&ring[i], 1, 256);
			assert_int_equal(ring_ops.ring_alloc(&ef.uctx, &ring[i]), 0);
			assert_int_equal(ring[i].buf->producer_index, 0);
			assert_int_equal(ring[i].buf->index_mask, 1);
			memset(ring[i].buf->data, 0xa5, 256);
			ring[i].buf->producer_index = 1;
		}
		/* At the end of each turn a piece is part used: MANY is no multiple of its pages. */
		assert_in_range(pages(&ef), (uint64_t)MANY * 4096 + 1,
				(uint64_t)MANY * 4096 + LEFT);
		for (int i = 0; i < MANY; i++) {
			ring_ops.ring_free(&ef.uctx, &ring[i]);
			assert_int_equal(ring[i].buf->producer_index, 0);
		}
		assert_in_range(pages(&ef), 0, LEFT);
	}
	rings_fini(&ef);
}

/* The area grows with the rings, each of which is in one piece; it does not where rings come and go. */
static void grows(void **state)
{
	static struct ring ring[LARGE];
	struct efile ef;
	uint64_t all = 0, size;
	struct ring r;
	void *user;

	setenv("RUSE_QUEUE_MEMORY", "1G", 1);
	fresh(&ef);
	for (int i = 0; i < LARGE; i++) {
		ring_layout(&ring[i], 8000 << i % 3, 64);
		assert_int_equal(ring_ops.ring_alloc(&ef.uctx, &ring[i]), 0);
		all += ring[i].buf_size;
		memset(ring[i].buf->data, i, ring[i].buf_size - sizeof(*ring[i].buf));
		user = ring_view(&ef, ring[i].buf_size, ring[i].offset);
		assert_ptr_equal(user, ring[i].buf);
		assert_true(engine_unmap(user, ring[i].buf_size));
	}
	assert_in_range(ef.npieces, 2, 12);
	assert_in_range(ef.map_size, all, 2 * all);
	for (int i = 0; i < LARGE; i++) {
		const uint8_t *data = (const uint8_t *)ring[i].buf->data;

		assert_int_equal(data[0], i);
		assert_int_equal(data[ring[i].buf_size - sizeof(*ring[i].buf) - 1], i);
	}
	size = ef.map_size;
	for (int i = LARGE / 2; i < LARGE; i++)
		ring_ops.ring_free(&ef.uctx, &ring[i]);
	for (int i = 0; i < TURNS; i++) {
		ring_layout(&r, 8000, 64);
		assert_int_equal(ring_ops.ring_alloc(&ef.uctx, &r), 0);
		ring_ops.ring_free(&ef.uctx, &r);
	}
	assert_int_equal(ef.map_size, size);
	unsetenv("RUSE_QUEUE_MEMORY");
	rings_fini(&ef);
}

/* The program gets the engine's mapping of a ring; it stays until both have dropped it. */
static void view(void **state)
{
	struct efile ef;
	struct ring r;
	uint32_t *user;

	fresh(&ef);
	ring_layout(&r, 1, 256);
	assert_int_equal(ring_ops.ring_alloc(&ef.uctx, &r), 0);
	assert_null(ring_view(&ef, r.buf_size, r.offset + 1));
	assert_null(ring_view(&ef, r.buf_size, 0));
	assert_null(ring_view(&ef, 0, r.offset));
	assert_null(ring_view(&ef, SIZE_MAX, r.offset));
	assert_null(ring_view(&ef, 4096, (1ull << 30) + ef.map_size));
	user = ring_view(&ef, r.buf_size, r.offset);
	assert_ptr_equal(user, r.buf);
	ring_ops.ring_free(&ef.uctx, &r);
	rings_fini(&ef);
	*user = 0xfee1900d; /* the program's mapping is still valid */
	assert_false(engine_unmap((char *)user + 1, r.buf_size));
	assert_false(engine_unmap(&r, sizeof(r)));
	assert_true(engine_unmap(user, r.buf_size));
	assert_false(engine_unmap(user, r.buf_size));
	assert_int_equal(msync(user, 4096, MS_ASYNC), -1);
	assert_int_equal(errno, ENOMEM);
}

/* More files than maps[] has entries: for the rest the program must map the rings itself. */
static void views_of_many(void **state)
{
	static struct efile ef[FILES];
	static void *user[FILES];
	struct rlimit limit;
	int views = 0;
	struct ring r;

	/* Each file has a descriptor. */
	assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), errno);
	if (limit.rlim_cur < FILES + 20)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(ef); i++) {
		fresh(&ef[i]);
		ring_layout(&r, 1, 64);
		assert_int_equal(ring_ops.ring_alloc(&ef[i].uctx, &r), 0);
		user[i] = ring_view(&ef[i], r.buf_size, r.offset);
		views += !!user[i];
	}
	assert_in_range(views, 1, FILES - 1);
	for (size_t i = 0; i < ARRAY_SIZE(ef); i++) {
		if (user[i])
			assert_true(engine_unmap(user[i], r.buf_size));
		rings_fini(&ef[i]);
	}
	fresh(&ef[0]);
	assert_int_equal(ring_ops.ring_alloc(&ef[0].uctx, &r), 0);
	assert_non_null(ring_view(&ef[0], r.buf_size, r.offset));
	assert_true(engine_unmap(r.buf, r.buf_size));
	rings_fini(&ef[0]);
}

/* A munmap() that bypasses the engine removes its mapping. A later ring in the same file range is mapped again. */
static void torn(void **state)
{
	struct efile ef;
	struct ring r;
	uint64_t first = 0;
	int i;

	fixed(&ef, 1 << 20);
	for (i = 0; i < 1000; i++) {
		ring_layout(&r, 1, 256);
		assert_int_equal(ring_ops.ring_alloc(&ef.uctx, &r), 0);
		assert_int_equal(r.buf->producer_index, 0);
		r.buf->producer_index = 1;
		if (i && r.offset == first)
			break;
		if (!i)
			first = r.offset;
		ring_ops.ring_free(&ef.uctx, &r);
		munmap(r.buf, r.buf_size);
	}
	assert_in_range(i, 1, 999);
	ring_ops.ring_free(&ef.uctx, &r);
	rings_fini(&ef);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_mmap),
		cmocka_unit_test(no_overlap),
		cmocka_unit_test(too_much),
		cmocka_unit_test(bound),
		cmocka_unit_test(bound_usual),
		cmocka_unit_test(many),
		cmocka_unit_test(grows),
		cmocka_unit_test(view),
		cmocka_unit_test(views_of_many),
		cmocka_unit_test(torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
