/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of memory that programs register: can peers map it (arena/arena.h), and what does that cost? */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arena/arena.h"
#include "arena/size.h"
#include "base/memfd.h"
#include "cli/cli.h"
#include "cli/doctor.h"

/* Opens and maps descriptor *arg of another process. 0 or -errno. */
static int doctor_map_other(pid_t pid, const void *arg)
{
	char path[40];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, *(const int *)arg);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	p = memfd_map(fd, PAGE, true);
	return p ? 0 : -EPROTO;
}

/* The option hidepid of the mount of /proc: "hidepid=2", or "no hidepid". */
static void doctor_hidepid(char *text, size_t size)
{
	FILE *file = fopen("/proc/self/mounts", "re");
	char line[1024], *at;

	snprintf(text, size, "no hidepid");
	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, " /proc proc ") ? strstr(line, "hidepid=") : NULL;
		if (at)
			snprintf(text, size, "%.*s", (int)strcspn(at, ", \n"), at);
	}
	if (file)
		fclose(file);
}

void doctor_mapped(struct finding *f)
{
	static const char byte = 'r';
	int fd = memfd_sealed("ruse-doctor", PAGE);
	int rc = fd < 0 ? fd : doctor_siblings(doctor_map_other, &fd);
	char text[40];

	if (doctor_siblings(doctor_read_other, &byte)) {
		doctor_found(f, CHECK_WARN, "allow cross-memory attach: peers map only memory that they may read",
			     "needs cross-memory attach");
	} else if (!rc) {
		doctor_found(f, CHECK_OK, "peers copy to and from registered memory without a system call",
			     "a memfd of another process can be mapped");
	} else {
		doctor_hidepid(text, sizeof(text));
		doctor_found(f, CHECK_WARN, "each copy of registered memory is a system call; allow memfd_create, "
					    "and mount /proc without hidepid",
			     "%s: %s (%s)", fd < 0 ? "memfd_create" : "/proc/PID/fd of another process",
			     strerror(-rc), text);
	}
	if (fd >= 0)
		close(fd);
}

/* Without RUSE_MEMORY: the small form of the arena. */
static void doctor_small(struct finding *f)
{
	switch (arena_permitted(ARENA_SMALL)) {
	case ARENA_GUARDED:
		doctor_found(f, CHECK_OK, "each copy of registered memory is a system call; RUSE_MEMORY=256M would share "
					  "large memory nevertheless",
			     "no memory is shared, as processes of a user are protected from each other");
		return;
	case ARENA_REFUSED:
		doctor_found(f, CHECK_WARN, "each copy of registered memory is a system call: raise the limit of the "
					    "address space (ulimit -v) or data (-d), or set vm.overcommit_memory to 0 or 1",
			     "no memory is shared, as a limit counts it");
		return;
	case ARENA_UNASKED:
	case ARENA_UNUSED:
	case ARENA_LOST:
		break;
	}
	doctor_found(f, CHECK_OK, "only page-aligned memory of programs that use RDMA; all other memory is private",
		     "the default: 256 MiB at most");
}

void doctor_memory(struct finding *f)
{
	const char *text = getenv("RUSE_MEMORY");
	uint64_t size;

	if (!text || !*text)
		doctor_small(f);
	else if (!arena_size_wanted(text, &size))
		doctor_found(f, CHECK_WARN, "set it to private, all, or a size as 64M or 1G",
			     "%.60s is not understood, and ignored", text);
	else if (size < ARENA_SIZE_MIN)
		doctor_found(f, CHECK_WARN, "each copy of registered memory is a system call; without RUSE_MEMORY "
			     "peers map page-aligned memory", "%.60s: no memory is mapped", text);
	else
		doctor_found(f, CHECK_OK, "large and page-aligned memory of a program that peers may map; fork() copies it",
			     "%llu MiB", (unsigned long long)size >> 20);
}

/* True if RUSE_MEMORY turns the arena off. */
static bool doctor_no_arena(void)
{
	uint64_t size;

	arena_size_wanted(getenv("RUSE_MEMORY"), &size);
	return size < ARENA_SIZE_MIN;
}

void doctor_memory_limits(struct finding *f)
{
	uint64_t size, limit = arena_size_limit(), file = memfd_limit();
	const char *text = getenv("RUSE_MEMORY");

	arena_size_wanted(text, &size);
	if (min(size, limit) > file)
		doctor_found(f, CHECK_WARN, "peers map no memory: raise the limit, or set RUSE_MEMORY to less",
			     "files of %llu MiB (ulimit -f), less than RUSE_MEMORY", (unsigned long long)file >> 20);
	else if (text && *text && size > limit)
		doctor_found(f, CHECK_WARN, "peers map less memory: raise the limit",
			     "addresses for %llu MiB of RUSE_MEMORY (ulimit -v)", (unsigned long long)limit >> 20);
	else
		doctor_found(f, CHECK_OK, "they leave room for RUSE_MEMORY", "ulimit -f and -v");
}

/*
 * How much a file of /sys/kernel/mm/transparent_hugepage allows: 0 nothing, 1 what a program asks for by madvise(), 2
 * all. word: its value.
 */
static int doctor_huge(const char *name, char *word, size_t size)
{
	static const char *const some[] = { "madvise", "advise" }, *const all[] = { "always", "within_size", "force" };
	char path[80], text[128] = "", *at;
	FILE *file;

	snprintf(word, size, "unknown");
	snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/%s", name);
	file = fopen(path, "re");
	if (file && fgets(text, sizeof(text), file) && (at = strchr(text, '[')))
		snprintf(word, size, "%.*s", (int)strcspn(at + 1, "]"), at + 1);
	if (file)
		fclose(file);
	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		if (!strcmp(word, some[i]))
			return 1;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(word, all[i]))
			return 2;
	return 0;
}

void doctor_hugepages(struct finding *f)
{
	char own[16], shared[16];
	int private = doctor_huge("enabled", own, sizeof(own));
	bool less = doctor_huge("shmem_enabled", shared, sizeof(shared)) < private && !doctor_no_arena();

	doctor_found(f, less ? CHECK_WARN : CHECK_OK, !less ?
		     "memory that peers may map gets them as private memory does" :
		     private == 1 ?
		     "programs that ask for huge pages compute slower; set shmem_enabled to advise, or RUSE_MEMORY=private" :
		     "programs compute slower in large memory; set shmem_enabled to always, or RUSE_MEMORY=private",
		     "private memory: %s; memory that peers may map (shmem_enabled): %s", own, shared);
}

void doctor_allocator(struct finding *f)
{
	const char *preload = getenv("LD_PRELOAD"), *name = "", *slash;
	Dl_info info;
	void *fn = dlsym(RTLD_DEFAULT, "malloc");

	if (fn && dladdr(fn, &info) && info.dli_fname) {
		slash = strrchr(info.dli_fname, '/');
		name = slash ? slash + 1 : info.dli_fname;
	}
	if (preload && strstr(preload, "/libruse.so") && strcmp(name, "libruse.so"))
		doctor_found(f, CHECK_WARN, "peers map its memory only if it calls mmap() of libc: put libruse.so "
			     "first, or use `ruse run`", "%.80s comes before libruse.so in LD_PRELOAD", name);
	else
		doctor_found(f, CHECK_OK,
			     "`ruse run` makes libruse.so the first; an allocator inside a program stays before it",
			     "malloc is that of %.80s", name);
}
