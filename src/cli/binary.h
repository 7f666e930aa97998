/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the dynamic loader reads in an ELF file. The file may be anything: all sizes are limited. */
#ifndef RUSE_CLI_BINARY_H
#define RUSE_CLI_BINARY_H

#include <stdint.h>

#include "base/util.h"

#define BINARY_NEEDED_MAX 128

struct binary {
	uint8_t bits;	  /* ELFCLASS32, ELFCLASS64 */
	uint8_t data;	  /* ELFDATA2LSB, ELFDATA2MSB */
	uint16_t machine; /* EM_... */
	bool executable;  /* ET_EXEC, or a position-independent executable */
	bool go;	  /* made by the Go compiler */
	bool no_default;  /* DF_1_NODEFLIB: not from the default directories */
	char *interp;	  /* the dynamic loader; NULL: none */
	char *soname, *rpath,
		*runpath; /* NULL: none; rpath is NULL beside runpath, as the loader ignores it then */
	char *needed[BINARY_NEEDED_MAX];
	size_t needed_n;
	int private_abi; /* of libibverbs: nn of the version definition IBVERBS_PRIVATE_nn; 0: none */
};

/*
 * Opens a file to read it. The descriptor or -errno; -EINVAL, -EISDIR: it is no regular file. A FIFO or a device is not
 * opened, as that may have an effect: a writer of the FIFO goes on, a tape is rewound.
 */
int binary_open_file(const char *path);
/*
 * Reads a file into *b, for binary_free() also after an error. 0 or -errno; -ENOEXEC: no ELF file; -EBADMSG: a damaged one;
 * -ENOSYS: ruse was built without libelf.
 */
int binary_read(const char *path, struct binary *b);
/* An undefined symbol of a vendor's interface, such as mlx5dv_open_device, for free(); NULL: none. */
char *binary_vendor(const char *path);
/* Makes *b empty. */
void binary_free(struct binary *b);
/* True if the loader takes b beside a program like a: same class, byte order and machine. */
bool binary_same_machine(const struct binary *a, const struct binary *b);
/* The name of an architecture, for messages. */
const char *binary_machine(const struct binary *b);
/*
 * Calls fn(string, arg) for strings in the constant data of the file that contain part, until it returns true. Reads
 * 64 MiB at most. True: fn has returned true.
 */
bool binary_strings(const char *path, const char *part, bool (*fn)(const char *string, void *arg),
		    void *arg);

#endif
