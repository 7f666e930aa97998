/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memfd can take the place of a uverbs descriptor. mmap(fd, offset) of the provider maps the ring
 * at that offset, also if the ring was added after the first mmap(), and no process can shrink the
 * memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proof.h"

#define BASE (1ll << 30)	/* rings start here, so that a stray write(2) does not hit one */
#define SIZE 65536

int main(void)
{
	int fd = memfd_create("proof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *engine, *program, *later;
	int again;

	need(fd >= 0 && !ftruncate(fd, BASE + SIZE), "memfd_create");
	engine = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, BASE);
	program = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, BASE);
	need(engine != MAP_FAILED && program != MAP_FAILED, "mmap");
	strcpy(engine, "ring");
	fact(!strcmp(program, "ring"), "two mappings at an offset beyond 1 GiB are the same memory");

	need(!ftruncate(fd, BASE + 2 * SIZE), "ftruncate");
	later = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, BASE + SIZE);
	fact(later != MAP_FAILED && !strcmp(program, "ring"), "it grows under its mappings");

	fact(write(fd, "stray doorbell", 14) == 14 && !strcmp(program, "ring"),
	     "a raw write(2) lands at offset 0 and leaves the rings alone");

	need(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), "F_ADD_SEALS");
	fact(ftruncate(fd, 4096) < 0 && errno == EPERM, "once sealed it cannot be shrunk");
	fact(!ftruncate(fd, BASE + 4 * SIZE), "but it can still grow");

	fact(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BASE, SIZE) && !program[0],
	     "a freed ring's pages can be given back: zeroes, no SIGBUS");

	again = dup(fd);
	close(fd);
	close(again);
	strcpy(later, "alive");
	fact(!strcmp(later, "alive"), "mappings outlive the last descriptor");
	return verdict();
}
