/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which memory peers may map: what the kernel tells decides. Each test runs with PROCMAP_QUERY, if the kernel has it,
 * and without.
 */
#include <errno.h>
#include <stdbool.h>
#include "base/sys.h"

static bool no_query;
#define syscall(nr, ...)                                                       \
	((nr) == SYS_ioctl && no_query ? (errno = ENOTTY, -1L) : (syscall)((nr), ##__VA_ARGS__))
#include "core/mr_maps.c"
#undef syscall
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "arena/testing.h"
#include "base/testing.h"
#include "core/testing.h"

#define RW (PROT_READ | PROT_WRITE)
#define SIZE (8ull << 20)

static int setup(void **state)
{
	assert_true(arena_open(SIZE, ARENA_WIDE, NULL));
	no_query = *state;
	return 0;
}

static int teardown(void **state)
{
	t_arena_close();
	return 0;
}

static uint64_t block(size_t pages)
{
	void *p = arena_alloc(pages * PAGE, PAGE, ARENA_ALIGNED, true);

	assert_non_null(p);
	return (uintptr_t)p;
}

static bool shared(uint64_t at, uint64_t len)
{
	enum mr_memory memory;
	int err = mr_maps_check(at & ~(PAGE - 1), ALIGN_UP(at + len, PAGE), false, &memory);

	return (!err || err == -EOPNOTSUPP) && memory == MR_MEM_SHARED;
}

static void test_ranges(void **state)
{
	uint64_t a = block(8);
	int on_stack;

	assert_true(shared(a, 8 * PAGE));
	assert_true(shared(a + 1, 1));
	assert_true(shared(a + PAGE - 1, 2));
	assert_true(shared(a + 8 * PAGE - 1, 1));
	assert_false(shared(a, 8 * PAGE + 1));
	assert_false(shared(a, SIZE));
	assert_false(shared((uintptr_t)&on_stack, 4));
	assert_false(shared(arena_base - 1, PAGE));
	assert_false(shared(arena_base + SIZE - PAGE, PAGE));
	assert_false(shared(arena_base + SIZE - PAGE, PAGE + 1));
}

static enum mr_memory memory_at(const void *p, uint64_t len)
{
	uint64_t start = (uintptr_t)p & ~(PAGE - 1);
	enum mr_memory memory;

	mr_maps_check(start, ALIGN_UP((uintptr_t)p + len, PAGE), false, &memory);
	return memory;
}

static uint8_t static_data[PAGE] = { 1 };

/* Why memory is private. Without PROCMAP_QUERY, stacks and files are other memory. */
static void test_reasons(void **state)
{
	uint8_t *anon = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), on_stack[64];
	enum mr_memory file = no_query ? MR_MEM_OTHER : MR_MEM_FILE;
	uint8_t *a = (uint8_t *)block(4);
	struct rlimit old, low;

	assert_int_equal(memory_at(a, 4 * PAGE), MR_MEM_SHARED);
	assert_int_equal(memory_at(anon, PAGE), MR_MEM_OTHER);
	assert_int_equal(memory_at(on_stack, 64), no_query ? MR_MEM_OTHER : MR_MEM_STACK);
	assert_int_equal(memory_at(static_data, PAGE), file);
	assert_int_equal(memory_at((void *)(arena_base + SIZE - PAGE), 2 * PAGE), MR_MEM_PARTLY);
	assert_int_equal(memory_at((void *)(arena_base - PAGE), 2 * PAGE), MR_MEM_PARTLY);
	assert_int_equal(memory_at((void *)(arena_base - PAGE), SIZE + 2 * PAGE), MR_MEM_PARTLY);
	assert_ptr_equal(mmap(a, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), a);
	assert_int_equal(memory_at(a, 4 * PAGE), MR_MEM_COVERED);
	assert_ptr_equal(mmap(anon, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0), anon);
	assert_int_equal(memory_at(anon, 4 * PAGE), file);
	assert_null(arena_alloc(SIZE, PAGE, ARENA_ALIGNED, false));
	assert_int_equal(memory_at(anon + PAGE, PAGE), MR_MEM_FULL);
	t_arena_close();
	assert_int_equal(memory_at(anon, PAGE), MR_MEM_UNASKED);
	assert_false(arena_open(0, ARENA_WIDE, NULL));
	assert_int_equal(memory_at(anon, PAGE), MR_MEM_UNASKED);
	t_arena_close();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = SIZE / 2;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_false(arena_open(SIZE, ARENA_WIDE, NULL));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(memory_at(anon, PAGE), MR_MEM_REFUSED);
	munmap(anon, 4 * PAGE);
}

/* One look tells both: whether the protection allows the access, and whether peers may map the memory. */
static void test_protected(void **state)
{
	int denied = no_query ? -EOPNOTSUPP : -EACCES, allowed = no_query ? -EOPNOTSUPP : 0;
	uint64_t a = block(8), end = a + 8 * PAGE;
	enum mr_memory memory;

	assert_int_equal(mr_maps_check(a, end, true, &memory), allowed);
	assert_int_equal(mprotect((void *)(a + PAGE), PAGE, PROT_READ), 0);
	assert_int_equal(mr_maps_check(a, end, true, &memory), denied);
	assert_int_equal(mr_maps_check(a, end, false, &memory), allowed);
	assert_int_equal(memory, MR_MEM_SHARED);
	assert_int_equal(mprotect((void *)(a + 3 * PAGE), PAGE, PROT_NONE), 0);
	assert_int_equal(mr_maps_check(a, end, false, &memory), denied);
}

/* System calls that preload/ does not see. */
static void test_raw_calls(void **state)
{
	uint64_t a = block(8), b = block(8);
	struct arena_span s = arena_span();

	assert_int_equal(syscall(SYS_munmap, a + 2 * PAGE, PAGE), 0);
	assert_false(shared(a, 8 * PAGE));
	assert_false(shared(a + 2 * PAGE, 1));
	assert_true(shared(a, 2 * PAGE));
	assert_true(shared(a + 3 * PAGE, 5 * PAGE));
	assert_int_equal(syscall(SYS_mmap, a + 2 * PAGE, PAGE, RW,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L), a + 2 * PAGE);
	assert_false(shared(a, 8 * PAGE));
	assert_false(shared(a + 2 * PAGE, PAGE));
	/* The memfd, but another place; and a private mapping of the right one. */
	assert_int_equal(syscall(SYS_mmap, b, PAGE, RW, MAP_SHARED | MAP_FIXED, s.fd,
				 b - s.base + PAGE), b);
	assert_false(shared(b, PAGE));
	assert_false(shared(b, 8 * PAGE));
	assert_int_equal(syscall(SYS_mmap, b, PAGE, RW, MAP_PRIVATE | MAP_FIXED, s.fd,
				 b - s.base), b);
	assert_false(shared(b, PAGE));
	assert_true(shared(b + PAGE, 7 * PAGE));
	assert_int_equal(syscall(SYS_mmap, b, PAGE, RW, MAP_SHARED | MAP_FIXED, s.fd,
				 b - s.base), b);
	assert_true(shared(b, 8 * PAGE));
}

/* Another memfd at the place. */
static void test_other_file(void **state)
{
	uint64_t a = block(4);
	int fd = memfd_create("ruse-memory", 0);

	assert_int_equal(ftruncate(fd, (off_t)SIZE), 0);
	assert_int_equal(syscall(SYS_mmap, a, 4 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd,
				 a - arena_base), a);
	assert_false(shared(a, 4 * PAGE));
	close(fd);
}

/* More mappings than are looked at by queries: the range is private, or read as text. */
static void test_many_mappings(void **state)
{
	uint64_t a = block(1024);

	for (uint64_t at = a; at < a + 1024 * PAGE; at += 2 * PAGE)
		assert_int_equal(mprotect((void *)at, PAGE, PROT_READ), 0);
	assert_true(shared(a, 1024 * PAGE));
	assert_int_equal(syscall(SYS_munmap, a + 1001 * PAGE, PAGE), 0);
	assert_false(shared(a, 1024 * PAGE));
	assert_true(shared(a, 1001 * PAGE));
}

static void test_lines(void **state)
{
	struct procmap_query q;

	assert_true(mr_maps_line("7f0000001000-7f0000003000 rw-s 00002000 00:01 1234   /memfd:x", &q));
	assert_int_equal(q.vma_start, 0x7f0000001000);
	assert_int_equal(q.vma_end, 0x7f0000003000);
	assert_int_equal(q.vma_flags, PROCMAP_VMA_SHARED);
	assert_int_equal(q.vma_offset, 0x2000);
	assert_int_equal(q.dev_major, 0);
	assert_int_equal(q.dev_minor, 1);
	assert_int_equal(q.inode, 1234);
	assert_true(mr_maps_line("1000-2000 r--p 0 fd:1f 99999999999", &q));
	assert_int_equal(q.vma_flags, 0);
	assert_int_equal(q.dev_major, 0xfd);
	assert_int_equal(q.dev_minor, 0x1f);
	assert_int_equal(q.inode, 99999999999);
	assert_false(mr_maps_line("", &q));
	assert_false(mr_maps_line("1000", &q));
	assert_false(mr_maps_line("1000-2000", &q));
	assert_false(mr_maps_line("1000-2000 rw", &q));
	assert_false(mr_maps_line("1000-2000 rw-s", &q));
	assert_false(mr_maps_line("1000-2000 rw-s 0", &q));
	assert_false(mr_maps_line("1000-2000 rw-s 0 00:", &q));
}

/* A path that fills the buffer of the reader does not hide the mappings behind it. */
static void test_long_paths(void **state)
{
	char dir[256], path[4090] = "/tmp";
	void *m[40];
	uint64_t a = block(4);
	int fd;

	memset(dir, 'd', 250);
	dir[250] = '\0';
	snprintf(path, sizeof(path), "/tmp/ruse-maps-%d", (int)getpid());
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chdir(path), 0);
	for (int i = 0; i < 15; i++) {
		assert_int_equal(mkdir(dir, 0700), 0);
		assert_int_equal(chdir(dir), 0);
	}
	fd = open("f", O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0 && ftruncate(fd, PAGE) == 0);
	for (int i = 0; i < 40; i++) {
		m[i] = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(m[i], MAP_FAILED);
	}
	assert_true(shared(a, 4 * PAGE));
	for (int i = 0; i < 40; i++)
		munmap(m[i], PAGE);
	close(fd);
	unlink("f");
	for (int i = 0; i < 15; i++)
		assert_true(chdir("..") == 0 && rmdir(dir) == 0);
	assert_true(chdir("/") == 0 && rmdir(path) == 0);
}

#define BOTH(name) \
	{ #name, name, setup, teardown, NULL }, { #name " as text", name, setup, teardown, &no_query }

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_ranges),     BOTH(test_protected),	  BOTH(test_raw_calls),
		BOTH(test_other_file), BOTH(test_many_mappings), BOTH(test_lines),
		BOTH(test_long_paths), BOTH(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
