/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory regions of memory that is mapped, but that the kernel's pin_user_pages_fast() with FOLL_LONGTERM refuses: pages
 * beyond the end of a file, mappings of a device, secret memory, missing protections. test-mr-file-noproc.c runs the
 * same tests without PROCMAP_QUERY.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arena/arena.h"
#include "base/testing.h"
#include "core/mr_internal.h"
#include "core/testing.h"
#include "core/umem.h"

#define LW IB_UVERBS_ACCESS_LOCAL_WRITE
#define RW (PROT_READ | PROT_WRITE)
#define SYS_MEMFD_SECRET 447	/* x86-64 and arm64 */

static struct test_dev *td;
static struct pd *pd;

static int setup(void **state)
{
	td = test_dev_create();
	return pd_create(&td->uctx, &pd);
}

static int teardown(void **state)
{
	assert_int_equal(td->uctx.nmr, 0);
	assert_int_equal(pd_destroy(pd), 0);
	test_dev_destroy(td);
	return 0;
}

static int reg(const void *p, uint64_t len, uint32_t access)
{
	uint64_t start = (uintptr_t)p;
	struct mr *mr;
	int err = mr_create(pd, start, len, start, access, &mr);

	return err ? err : mr_destroy(mr);
}

/* Is PROCMAP_QUERY used, so that each mapping is looked at? */
static bool all_seen(void)
{
	uint64_t here = (uintptr_t)&here & ~(PAGE - 1);
	enum mr_memory memory;

	return mr_maps_check(here, here + PAGE, false, &memory) != -EOPNOTSUPP;
}

static uint8_t *map_fd(int fd, uint64_t len, int prot, int flags)
{
	void *p = mmap(NULL, len, prot, flags, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* Four pages of a file that has one page and one byte. */
static void end_of(int fd, int flags)
{
	uint8_t *p, *behind;
	struct mr_change c;
	struct mr *mr;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE + 1), 0);
	p = map_fd(fd, 4 * PAGE, RW, flags);
	for (uint32_t access = 0; access <= LW; access += LW) {
		assert_int_equal(reg(p, 2 * PAGE, access), 0);
		assert_int_equal(reg(p + 2 * PAGE - 1, 1, access), 0);
		assert_int_equal(reg(p, 2 * PAGE + 1, access), -EFAULT);
		assert_int_equal(reg(p, 4 * PAGE, access), -EFAULT);
		assert_int_equal(reg(p + 2 * PAGE, 1, access), -EFAULT);
		assert_int_equal(reg(p + 2 * PAGE + 8, 0, access), -EFAULT);
	}
	/* REREG_MR, which then leaves the region as it was. */
	assert_int_equal(mr_create(pd, (uintptr_t)p, PAGE, (uintptr_t)p, LW, &mr), 0);
	mr_change_init(&c, mr);
	c.length = 3 * PAGE;
	assert_int_equal(mr_rereg(mr, &c), -EFAULT);
	mr_change_init(&c, mr);
	assert_int_equal(c.length, PAGE);
	assert_int_equal(mr_destroy(mr), 0);
	/* A mapping behind it does not hide the end. */
	behind = p + 3 * PAGE;
	assert_ptr_equal(mmap(behind, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 behind);
	assert_int_equal(reg(p, 4 * PAGE, LW), all_seen() ? -EFAULT : 0);
	/* The file grows, and is cut off. */
	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	assert_int_equal(reg(p, 4 * PAGE, LW), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(reg(p, 1, 0), -EFAULT);
	munmap(p, 4 * PAGE);
	close(fd);
}

static int file_in(const char *dir)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%s/ruse-test-XXXXXX", dir);
	fd = mkstemp(name);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static void file_ends(void **state)
{
	test_fault_handler();
	end_of(memfd_create("shared", 0), MAP_SHARED);
	end_of(memfd_create("private", 0), MAP_PRIVATE);
	end_of(file_in("."), MAP_SHARED);
	end_of(file_in("."), MAP_PRIVATE);
}

/* Of a tmpfs with a name; a container may have none there. */
static void tmpfs_ends(void **state)
{
	int fd = file_in("/dev/shm");

	if (fd < 0 && errno == ENOENT)
		skip();
	test_fault_handler();
	end_of(fd, MAP_SHARED);
}

/* Memory that is a file's for the kernel alone. */
static void shared_memory(void **state)
{
	uint8_t *p = map_fd(-1, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS);
	int zero = open("/dev/zero", O_RDWR), id = shmget(IPC_PRIVATE, 2 * PAGE, 0600);
	void *seg = shmat(id, NULL, 0);

	test_fault_handler();
	assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
	assert_ptr_not_equal(seg, (void *)-1);
	assert_int_equal(reg(seg, 2 * PAGE, LW), 0);
	assert_int_equal(shmdt(seg), 0);
	assert_int_equal(reg(p, PAGE, LW), 0);
	p = mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(reg(p, 2 * PAGE, LW), -EFAULT);
	munmap(p, 2 * PAGE);
	assert_true(zero >= 0);
	for (int flags = MAP_SHARED; flags <= MAP_PRIVATE; flags++) {
		p = map_fd(zero, 2 * PAGE, RW, flags);
		assert_int_equal(reg(p, 2 * PAGE, LW), 0);
		munmap(p, 2 * PAGE);
	}
	close(zero);
}

static void protections(void **state)
{
	int fd = memfd_create("file", 0);
	uint8_t *p;

	test_fault_handler();
	assert_int_equal(ftruncate(fd, PAGE), 0);
	for (int flags = MAP_SHARED; flags <= MAP_PRIVATE; flags++) {
		p = map_fd(fd, PAGE, PROT_READ, flags);
		assert_int_equal(reg(p, PAGE, 0), 0);
		assert_int_equal(reg(p, PAGE, LW), -EFAULT);
		assert_int_equal(mprotect(p, PAGE, PROT_NONE), 0);
		assert_int_equal(reg(p, PAGE, 0), -EFAULT);
		assert_int_equal(reg(p, PAGE, LW), -EFAULT);
		assert_int_equal(mprotect(p, PAGE, PROT_WRITE), 0);
		assert_int_equal(reg(p, PAGE, LW), 0);
		munmap(p, PAGE);
	}
	close(fd);
}

/* Calls fn with the mapping of this name in /proc/self/maps. False: there is none. */
static bool named(const char *name, uint8_t **p, uint64_t *len)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	bool found = false;
	char line[512];

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, name) && sscanf(line, "%lx-%lx", &start, &end) == 2;
	if (f)
		fclose(f);
	if (found) {
		*p = (uint8_t *)start;
		*len = end - start;
	}
	return found;
}

/* The kernel's data for the vDSO is a mapping as of a device (VM_IO, VM_PFNMAP); the code is not. */
static void device(void **state)
{
	uint64_t len;
	uint8_t *p;

	test_fault_handler();
	if (named("[vdso]", &p, &len)) {
		assert_int_equal(reg(p, len, 0), 0);
		assert_int_equal(reg(p, len, LW), -EFAULT);
	}
	if (!named("[vvar]", &p, &len))
		skip();
	assert_int_equal(reg(p, len, 0), -EFAULT);
	assert_int_equal(reg(p, 1, 0), -EFAULT);
	assert_int_equal(reg(p, len, LW), -EFAULT);
}

static void secret(void **state)
{
	int fd = (int)syscall(SYS_MEMFD_SECRET, 0);
	uint8_t *p;

	test_fault_handler();
	if (fd < 0)
		skip();
	assert_int_equal(ftruncate(fd, PAGE), 0);
	p = map_fd(fd, PAGE, RW, MAP_SHARED);
	assert_int_equal(reg(p, PAGE, LW), -EFAULT);
	assert_int_equal(reg(p, PAGE, 0), -EFAULT);
	munmap(p, PAGE);
	close(fd);
}

/* Huge pages, where the machine has some: else mmap() fails. */
static void huge(void **state)
{
	int fd = memfd_create("huge", MFD_HUGETLB);
	uint64_t size = 2 << 20;
	uint8_t *p = mmap(NULL, size, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0), *f;

	test_fault_handler();
	if (p == MAP_FAILED || fd < 0 || ftruncate(fd, (off_t)size))
		skip();
	assert_int_equal(reg(p, size, LW), 0);
	assert_int_equal(reg(p + PAGE, 2 * PAGE, LW), 0);
	munmap(p, size);
	f = map_fd(fd, size, RW, MAP_SHARED);
	assert_int_equal(reg(f, size, LW), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(reg(f + PAGE, PAGE, LW), -EFAULT);
	munmap(f, size);
	close(fd);
}

/* A sparse file of 16 GiB: one page at most is touched. RLIMIT_MEMLOCK does not matter. */
static void large(void **state)
{
	int fd = memfd_create("large", 0);
	uint64_t len = 16ull << 30;
	struct rlimit none = { 0, 0 };
	struct stat st;
	uint8_t *p;

	test_fault_handler();
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	p = map_fd(fd, len, RW, MAP_SHARED);
	assert_int_equal(reg(p, len, LW), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_in_range(st.st_blocks, 0, 2 * PAGE / 512);
	munmap(p, len);
	close(fd);
}

static int uffd_of(uint8_t *p, uint64_t len)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { { (uintptr_t)p, len }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &r))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* A page that userfaultfd has to provide is not waited for: the size of the file tells enough. */
static void userfault(void **state)
{
	char name[] = "/dev/shm/ruse-test-XXXXXX";
	int fd = all_seen() ? mkstemp(name) : -1, uffd;
	uint8_t *p;

	if (fd < 0)
		skip();
	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	p = map_fd(fd, 3 * PAGE, RW, MAP_SHARED);
	uffd = uffd_of(p, 3 * PAGE);
	if (uffd >= 0) {
		alarm(60);
		assert_int_equal(reg(p, 2 * PAGE, LW), 0);
		assert_int_equal(reg(p, 3 * PAGE, LW), -EFAULT);
		alarm(0);
		close(uffd);
	}
	munmap(p, 3 * PAGE);
	close(fd);
	unlink(name);
	if (uffd < 0)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(file_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(tmpfs_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(shared_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(protections, setup, teardown),
		cmocka_unit_test_setup_teardown(device, setup, teardown),
		cmocka_unit_test_setup_teardown(secret, setup, teardown),
		cmocka_unit_test_setup_teardown(huge, setup, teardown),
		cmocka_unit_test_setup_teardown(large, setup, teardown),
		cmocka_unit_test_setup_teardown(userfault, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
