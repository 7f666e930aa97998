/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of the real functions, for real.h. */
#ifndef RUSE_PRELOAD_REAL_FUNCS_H
#define RUSE_PRELOAD_REAL_FUNCS_H

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "preload/real_signal.h"
#include "preload/real_walk.h"

struct iovec;
struct statx;
struct termios;
struct winsize;

/* X(result, name, arguments) */
#define REAL_FUNCS(X)                                                          \
	X(void, _exit, (int))                                                  \
	X(int, open, (const char *, int, ...))                                 \
	X(int, open64, (const char *, int, ...))                               \
	X(int, openat, (int, const char *, int, ...))                          \
	X(int, openat64, (int, const char *, int, ...))                        \
	X(int, __open_2, (const char *, int))                                  \
	X(int, __open64_2, (const char *, int))                                \
	X(int, __openat_2, (int, const char *, int))                           \
	X(int, __openat64_2, (int, const char *, int))                         \
	X(int, creat, (const char *, mode_t))                                  \
	X(int, creat64, (const char *, mode_t))                                \
	X(FILE *, fopen, (const char *, const char *))                         \
	X(FILE *, fopen64, (const char *, const char *))                       \
	X(FILE *, fdopen, (int, const char *))                                 \
	X(int, fclose, (FILE *))                                               \
	X(FILE *, freopen, (const char *, const char *, FILE *))               \
	X(FILE *, freopen64, (const char *, const char *, FILE *))             \
	X(DIR *, opendir, (const char *))                                      \
	X(int, scandir, (const char *, struct dirent ***, scan_filter, scan_order)) \
	X(int, scandir64, (const char *, struct dirent64 ***, scan_filter64, scan_order64)) \
	REAL_WALK_FUNCS(X)                                                     \
	X(int, chdir, (const char *))                                          \
	X(int, stat, (const char *, struct stat *))                            \
	X(int, stat64, (const char *, struct stat64 *))                        \
	X(int, lstat, (const char *, struct stat *))                           \
	X(int, lstat64, (const char *, struct stat64 *))                       \
	X(off_t, lseek, (int, off_t, int))                                     \
	X(off64_t, lseek64, (int, off64_t, int))                               \
	X(int, fstat, (int, struct stat *))                                    \
	X(int, fstat64, (int, struct stat64 *))                                \
	X(int, fstatat, (int, const char *, struct stat *, int))               \
	X(int, fstatat64, (int, const char *, struct stat64 *, int))           \
	X(int, __xstat, (int, const char *, struct stat *))                    \
	X(int, __xstat64, (int, const char *, struct stat64 *))                \
	X(int, __lxstat, (int, const char *, struct stat *))                   \
	X(int, __lxstat64, (int, const char *, struct stat64 *))               \
	X(int, __fxstat, (int, int, struct stat *))                            \
	X(int, __fxstat64, (int, int, struct stat64 *))                        \
	X(int, __fxstatat, (int, int, const char *, struct stat *, int))       \
	X(int, __fxstatat64, (int, int, const char *, struct stat64 *, int))   \
	X(int, statx, (int, const char *, int, unsigned int, struct statx *))  \
	X(int, access, (const char *, int))                                    \
	X(int, faccessat, (int, const char *, int, int))                       \
	X(int, euidaccess, (const char *, int))                                \
	X(int, eaccess, (const char *, int))                                   \
	X(ssize_t, readlink, (const char *, char *, size_t))                   \
	X(ssize_t, readlinkat, (int, const char *, char *, size_t))            \
	X(ssize_t, __readlink_chk, (const char *, char *, size_t, size_t))     \
	X(ssize_t, __readlinkat_chk, (int, const char *, char *, size_t, size_t)) \
	X(ssize_t, getxattr, (const char *, const char *, void *, size_t))     \
	X(ssize_t, lgetxattr, (const char *, const char *, void *, size_t))    \
	X(char *, realpath, (const char *, char *))                            \
	X(char *, __realpath_chk, (const char *, char *, size_t))              \
	X(char *, canonicalize_file_name, (const char *))                      \
	X(ssize_t, read, (int, void *, size_t))                                \
	X(ssize_t, __read_chk, (int, void *, size_t, size_t))                  \
	X(ssize_t, pread, (int, void *, size_t, off_t))                        \
	X(ssize_t, pread64, (int, void *, size_t, off64_t))                    \
	X(ssize_t, __pread_chk, (int, void *, size_t, off_t, size_t))          \
	X(ssize_t, __pread64_chk, (int, void *, size_t, off64_t, size_t))      \
	X(ssize_t, write, (int, const void *, size_t))                         \
	X(ssize_t, readv, (int, const struct iovec *, int))                    \
	X(ssize_t, writev, (int, const struct iovec *, int))                   \
	X(int, ioctl, (int, unsigned long, ...))                               \
	X(int, fcntl, (int, int, ...))                                         \
	X(int, fcntl64, (int, int, ...))                                       \
	X(int, close, (int))                                                   \
	X(int, close_range, (unsigned int, unsigned int, int))                 \
	X(void, closefrom, (int))                                              \
	X(int, dup, (int))                                                     \
	X(int, dup2, (int, int))                                               \
	X(int, dup3, (int, int, int))                                          \
	X(int, socket, (int, int, int))                                        \
	X(int, bind, (int, __CONST_SOCKADDR_ARG, socklen_t))                   \
	X(int, connect, (int, __CONST_SOCKADDR_ARG, socklen_t))                \
	X(int, getsockname, (int, __SOCKADDR_ARG, socklen_t *))                \
	X(int, getpeername, (int, __SOCKADDR_ARG, socklen_t *))                \
	X(int, setsockopt, (int, int, int, const void *, socklen_t))           \
	X(int, getsockopt, (int, int, int, void *, socklen_t *))               \
	X(ssize_t, send, (int, const void *, size_t, int))                     \
	X(ssize_t, sendto, (int, const void *, size_t, int, __CONST_SOCKADDR_ARG, socklen_t)) \
	X(ssize_t, sendmsg, (int, const struct msghdr *, int))                 \
	X(ssize_t, recv, (int, void *, size_t, int))                           \
	X(ssize_t, __recv_chk, (int, void *, size_t, size_t, int))             \
	X(ssize_t, recvfrom, (int, void *, size_t, int, __SOCKADDR_ARG, socklen_t *)) \
	X(ssize_t, __recvfrom_chk,                                             \
	  (int, void *, size_t, size_t, int, __SOCKADDR_ARG, socklen_t *))     \
	X(ssize_t, recvmsg, (int, struct msghdr *, int))                       \
	X(void *, mmap, (void *, size_t, int, int, int, off_t))                \
	X(void *, mmap64, (void *, size_t, int, int, int, off64_t))            \
	X(int, munmap, (void *, size_t))                                       \
	X(void *, mremap, (void *, size_t, size_t, int, ...))                  \
	X(int, mprotect, (void *, size_t, int))                                \
	X(int, madvise, (void *, size_t, int))                                 \
	X(int, pkey_mprotect, (void *, size_t, int, int))                      \
	X(int, msync, (void *, size_t, int))                                   \
	X(int, mincore, (void *, size_t, unsigned char *))                     \
	X(int, mlock, (const void *, size_t))                                  \
	X(int, mlock2, (const void *, size_t, unsigned int))                   \
	X(int, munlock, (const void *, size_t))                                \
	X(int, munlockall, (void))                                             \
	X(void *, shmat, (int, const void *, int))                             \
	X(int, shmdt, (const void *))                                          \
	X(int, prctl, (int, ...))                                              \
	X(int, setrlimit, (__rlimit_resource_t, const struct rlimit *))        \
	X(int, setrlimit64, (__rlimit_resource_t, const struct rlimit64 *))    \
	X(int, prlimit, (pid_t, enum __rlimit_resource, const struct rlimit *, struct rlimit *)) \
	X(int, prlimit64,                                                      \
	  (pid_t, enum __rlimit_resource, const struct rlimit64 *, struct rlimit64 *)) \
	X(int, pthread_create,                                                 \
	  (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))    \
	X(void, pthread_exit, (void *))                                        \
	X(pid_t, fork, (void))                                                 \
	X(pid_t, _Fork, (void))                                                \
	X(int, daemon, (int, int))                                             \
	X(int, forkpty, (int *, char *, const struct termios *, const struct winsize *)) \
	X(ssize_t, process_madvise, (int, const struct iovec *, size_t, int, unsigned int)) \
	REAL_SIGNAL_FUNCS(X)

#endif
