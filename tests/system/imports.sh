#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The stock libraries and tools reach the kernel through libc functions. Each function they import
# that takes a path, a descriptor or a signal must be interposed by libruse.so, or be listed below
# with the reason why it need not be.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
command -v nm >/dev/null || skip "no nm"
lib=$RUSE_BUILD/libruse.so

# Not needed: the descriptors of libruse are real ones, on which the real calls do the right
# thing.
not_needed="
poll __poll_chk select epoll_create epoll_create1 epoll_ctl epoll_wait
mremap msync madvise eventfd pipe pipe2 socketpair accept accept4 listen shutdown
timerfd_create timerfd_settime inotify_init inotify_init1 inotify_add_watch inotify_rm_watch
fdopen fclose fflush fgets fgetc getc fputc fputs fread fwrite fprintf fscanf ftell fseek rewind
fileno feof ferror clearerr setvbuf setbuf
readdir readdir64 closedir dirfd rewinddir alphasort alphasort64 versionsort
unlink mkdir rmdir rename mkstemp mkstemp64 mkostemp64 ftruncate ftruncate64
pwrite pwrite64 fsync flock statfs statfs64 fstatfs fstatfs64 chown chmod fchmod getcwd
sigaltstack sigaddset sigdelset sigemptyset sigfillset sigismember siglongjmp __sigsetjmp
signalfd raise kill pthread_kill
"

# Families of function names that are checked.
families='^_*(f?re?open|f?open|openat|creat|fdopen|opendir|scandir(at)?|n?ftw|glob|readdir|closedir|[fl]?x?stat|fx?statat'
families+='|statx|access|f?accessat|euidaccess|eaccess|readlink|readlinkat|realpath|canonicalize_file_name'
families+='|p?read|p?write|readv|writev|ioctl|fcntl|close|close_range|closefrom|dup[23]?|socket|bind'
families+='|connect|getsockname|getpeername|[gs]etsockopt|send|sendto|sendmsg|recv|recvfrom|recvmsg'
families+='|p?poll|p?select|epoll_[a-z0-9]+|mmap|munmap|eventfd|inotify_[a-z0-9_]+|timerfd_[a-z]+'
families+='|sig[a-z]+|pthread_sigmask|chdir|statfs|fstatfs|lseek|socketpair|accept4?|listen|shutdown'
families+=')(64)?(_2|_chk)?$'

names() { # names WHICH FILE
	nm -D "--$1-only" "$2" 2>/dev/null | awk '{ print $NF }' | sed 's/@.*//' | sort -u
}

[ -e "$lib" ] || die "no $lib"
names defined "$lib" >"$T/exported"
[ -s "$T/exported" ] || die "libruse.so exports nothing"

# Only names that libc has: a misspelt function would interpose nothing.
libc=$(ldd "$(command -v nm)" | awk '$1 ~ /^libc\.so/ { print $3 }')
names defined "$libc" >"$T/libc"
comm -23 "$T/exported" "$T/libc" >"$T/strange"
[ ! -s "$T/strange" ] || die "libruse.so exports what libc has not: $(tr '\n' ' ' <"$T/strange")"

# CPUID is slow in a virtual machine; a constructor of libgcc would run it at the start of each program.
! nm "$lib" | grep __cpu_indicator_init || die "libruse.so asks for the CPU's features when it is loaded"

find_stock() {
	local so
	for so in libibverbs.so.1 librdmacm.so.1 libibumad.so.3 libibmad.so.5 libnl-3.so.200 \
		libnl-route-3.so.200 libmnl.so.0; do
		ldconfig -p | awk -v so="$so" '$1 == so { print $NF; exit }'
	done
	find /usr/lib/*/libibverbs -name 'librxe-*.so' 2>/dev/null
	for so in rdma ibv_devinfo ibv_rc_pingpong ib_send_bw ib_write_lat rping; do
		type -P "$so"
	done
}

tr -s ' \n' '\n' <<<"$not_needed" | sort -u >"$T/not-needed"
sort -u "$T/exported" "$T/not-needed" >"$T/known"
files=0 missing=0
for f in $(find_stock); do
	files=$((files + 1))
	names undefined "$f" | grep -E "$families" | comm -23 - "$T/known" >"$T/missing"
	if [ -s "$T/missing" ]; then
		echo "$f imports $(tr '\n' ' ' <"$T/missing")" >&2
		missing=1
	fi
done
[ $files -ge 3 ] || die "found only $files of the stock libraries"
[ $missing -eq 0 ] || die "names that are neither interposed nor known to need it not"
note "$files files, $(wc -l <"$T/exported") names"
