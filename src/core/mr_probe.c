/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Has mapped memory pages that the kernel would pin? Files end before their mappings do, and memory of devices and of
 * memfd_secret() cannot be pinned at all (check_vma_flags() in the kernel's mm/gup.c). The answer takes the same time
 * for a mapping of any size: it is that of the last page.
 *
 * madvise(MADV_POPULATE_READ) of Linux 5.14 makes the checks of the pin. It waits as the pin does if userfaultfd has
 * to provide the page. As other threads of the program wait then, too, the size of the file is asked first where
 * userfaultfd is possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include "base/sys.h"
#include "core/mr_internal.h"
#include "core/umem.h"

/* From <linux/fs.h>. */
#define PATH_LEN 4096

/* Checks that the byte at addr can be read or, if write is set, written, by adding 0 to the word that contains it. */
static int mr_touch(uint64_t addr, bool write)
{
	uint64_t orig;
	uint8_t byte;

	if (write)
		return umem_fetch_add((uint64_t *)(uintptr_t)(addr & ~7ull), 0, &orig);
	return umem_copy(&byte, (void *)(uintptr_t)addr, 1);
}

int mr_probe(uint64_t addr, bool write)
{
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	int err = (int)sys_call(SYS_madvise, addr & ~(PAGE - 1), PAGE, advice);

	if (!err)
		return 0;
	/* EINVAL: the mapping cannot be pinned, or the kernel does not know the advice. */
	if (err == -EINVAL && !sys_call(SYS_madvise, addr & ~(PAGE - 1), 0, advice))
		return -EACCES;
	if (err == -EINVAL || err == -ENOSYS || err == -EPERM || err == -EACCES)
		return mr_touch(addr, write) ? -EFAULT : 0;
	return -EFAULT;
}

/* Opens the file of a mapping with O_PATH. The link needs a privilege, the path a file that still has it. */
static int mr_open(int maps, const struct procmap_query *q)
{
	char path[PATH_LEN];
	struct procmap_query named = {
		.size = sizeof(named), .query_addr = q->vma_start,
		.vma_name_size = sizeof(path), .vma_name_addr = (uintptr_t)path
	};
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%llx-%llx",
		 (unsigned long long)q->vma_start, (unsigned long long)q->vma_end);
	fd = sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
	if (fd >= 0)
		return fd;
	if (sys_call(SYS_ioctl, maps, PROCMAP_QUERY, &named) < 0 || path[0] != '/')
		return -ENOENT;
	return sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
}

/* The end of a file of tmpfs or hugetlbfs, in whole pages. UINT64_MAX: it is another one, or not known. */
static uint64_t mr_file_end(int maps, const struct procmap_query *q)
{
	uint64_t end = UINT64_MAX;
	struct statfs fs;
	struct stat st;
	int fd = mr_open(maps, q);

	if (fd < 0)
		return end;
	if (!sys_call(SYS_fstat, fd, &st) && S_ISREG(st.st_mode) && st.st_ino == q->inode &&
	    st.st_dev == makedev(q->dev_major, q->dev_minor) && !sys_call(SYS_fstatfs, fd, &fs) &&
	    (fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC))
		end = ALIGN_UP((uint64_t)st.st_size, PAGE);
	sys_close(fd);
	return end;
}

int mr_backed(int maps, const struct procmap_query *q, uint64_t page)
{
	uint32_t flags = q->vma_flags & (PROCMAP_VMA_WRITABLE | PROCMAP_VMA_SHARED);
	uint64_t end = UINT64_MAX;
	int err;

	/* Anonymous memory has all its pages. The mappings of the vDSO are not writable. */
	if (!q->inode && flags == PROCMAP_VMA_WRITABLE)
		return 0;
	if (q->inode)
		end = mr_file_end(maps, q);
	if (end != UINT64_MAX)
		return page - q->vma_start + q->vma_offset < end ? 0 : -EFAULT;
	err = mr_probe(page, !(q->vma_flags & PROCMAP_VMA_READABLE));
	return err == -EACCES ? -ENODEV : err;
}
