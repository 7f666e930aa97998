/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handling of SIGSEGV and SIGBUS
 *
 * From the first open of a device on, the kernel's handler for both signals is fault_handler(). It
 * repairs faults inside a guarded copy (umem_fix_fault()). Other faults and signals are the program's,
 * whose action is kept in a table. The kernel's action has the program's flags and mask, so its handler
 * runs on the stack and with the mask that it has asked for. Only SA_RESETHAND and SA_SIGINFO are
 * carried out here. For SIG_DFL the default action is really installed and the fault repeated, so that
 * a core dump shows the right place.
 *
 * The mask of the two signals is the kernel's. A thread that blocks them unblocks them for a guarded
 * copy (core/umem_mask.h).
 */
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include "base/log.h"
#include "base/sys.h"
#include "core/umem.h"
#include "preload/preload.h"
#include "preload/signals.h"
#include "shared/seqlock.h"

#define SIG_BIT(sig) (1ull << ((sig) - 1))

/*
 * The flags that ruse carries out, or that mean nothing for the two signals. The others are the real handler's, too, and
 * are told as the kernel tells them.
 */
#define SA_EMULATED                                                                                \
	((int)SA_RESETHAND | SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | \
	 SA_NODEFER)

bool signals_owned;

/*
 * The program's actions. Read in signal handlers, hence a sequence lock. `lock` is that of the writers. Index 0 SIGSEGV,
 * 1 SIGBUS.
 */
static struct {
	uint32_t lock;
	struct seqlock seq;
	struct sigaction act[2];
	/* The action of the signal `changing` before, during a write. */
	struct sigaction was;
	int changing;
} table;

#define ACT_TRIES 1000
#define ACT_NAPS 1000

static struct sigaction *act_entry(int sig)
{
	return &table.act[sig == SIGBUS];
}

/*
 * A writer may have lost its CPU, but not for as long as this: then it is a thread that a forked child does not have, and the
 * default action ends the child.
 */
static void signals_action(int sig, struct sigaction *act)
{
	const struct timespec nap = { .tv_nsec = NS_MS };

	for (int i = 0; i < ACT_NAPS; i++) {
		if (seqlock_read(&table.seq, act, act_entry(sig), sizeof(*act), ACT_TRIES))
			return;
		sys_call(SYS_nanosleep, &nap, NULL);
	}
	*act = (struct sigaction){ .sa_handler = SIG_DFL };
}

/* Blocks all signals meanwhile: a handler on this thread would wait forever for the lock. Returns the mask. */
static uint64_t table_lock(void)
{
	uint64_t mask = umem_mask_change(SIG_BLOCK, ~0ull);

	while (!atomic_cmpxchg(&table.lock, 0u, 1u))
		cpu_relax();
	return mask;
}

static void table_unlock(uint64_t mask)
{
	smp_store_release(&table.lock, 0u);
	umem_mask_change(SIG_SETMASK, mask);
}

/* Under the lock. */
static void table_put(int sig, const struct sigaction *act)
{
	table.was = *act_entry(sig);
	table.changing = sig;
	smp_wmb();	/* for signals_forked() */
	seqlock_write(&table.seq, act_entry(sig), act, sizeof(*act));
}

void signals_forked(void)
{
	uint32_t word;

	if (!seqlock_read_begin(&table.seq, &word)) {
		*act_entry(table.changing) = table.was;
		seqlock_write_end(&table.seq);
	}
	table.lock = 0;
}

/*
 * Carries out the program's SIG_DFL for a signal that has arrived. A fault repeats by itself after
 * the handler returns; what kill() and the like have sent is sent again, to this thread.
 */
static void act_default(int sig, bool fault)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	long pid = sys_call(SYS_getpid), tid = sys_call(SYS_gettid);

	REAL(sigaction)(sig, &dfl, NULL);
	umem_mask_change(SIG_UNBLOCK, SIG_BIT(sig));
	if (!fault)
		sys_call(SYS_tgkill, pid, tid, sig);
}

#if defined(__x86_64__)
#define FAULT_PC(uc) ((uc)->uc_mcontext.gregs[REG_RIP])
#elif defined(__aarch64__)
#define FAULT_PC(uc) ((uc)->uc_mcontext.pc)
#endif

#ifdef FAULT_PC
/* From the linker: the first byte of this library, and the end of its code. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* The program ends, or its handler is surprised, by code that is not its own: says so, once. */
static void fault_tell(int sig, const siginfo_t *si, const ucontext_t *uc)
{
	uintptr_t at = (uintptr_t)FAULT_PC(uc) - (uintptr_t)__ehdr_start;
	static uint32_t told;

	if (at >= (uintptr_t)etext - (uintptr_t)__ehdr_start || !atomic_cmpxchg(&told, 0u, 1u))
		return;
	log_err("%s in libruse.so+0x%lx, address %p: the program has passed a bad pointer to a function of libc, or "
		"this is an error of ruse; please report it", sig == SIGBUS ? "SIGBUS" : "SIGSEGV",
		(unsigned long)at, si->si_addr);
}
#else
static void fault_tell(int sig, const siginfo_t *si, const ucontext_t *uc)
{
}
#endif

static void act_deliver(int sig, siginfo_t *si, ucontext_t *uc)
{
	bool fault = si->si_code > 0;
	struct sigaction act;

	signals_action(sig, &act);
	if (act.sa_handler == SIG_IGN && !fault)
		return;
	if (act.sa_handler == SIG_DFL || act.sa_handler == SIG_IGN) {
		act_default(sig, fault);
		return;
	}
	if (act.sa_flags & (int)SA_RESETHAND) {
		struct sigaction reset = act;
		uint64_t mask = table_lock();

		reset.sa_handler = SIG_DFL;
		table_put(sig, &reset);
		table_unlock(mask);
	}
	/* The handler has a mask of its own, and may end by siglongjmp() or change the one that it returns to. */
	umem_thread = UMEM_ASK;
	act.sa_sigaction(sig, si, uc);
	umem_thread = UMEM_ASK;
}

/* Preserves errno but for the program's handler, which is responsible for its own changes. */
static void fault_handler(int sig, siginfo_t *si, void *uc)
{
	bool fault = si->si_code > 0;
	int e = errno;

	umem_siginfo(si);
	if ((fault && umem_fix_fault(uc)) || umem_refuse(sig, si, uc)) {
		errno = e;
		return;
	}
	if (fault)
		fault_tell(sig, si, uc);
	act_deliver(sig, si, uc);
}

/* The kernel must not reset the action after a fault of a guarded copy. */
static int action_install(int sig, const struct sigaction *program)
{
	struct sigaction own = *program;

	if (program->sa_handler == SIG_DFL || program->sa_handler == SIG_IGN) {
		sigemptyset(&own.sa_mask);
		own.sa_flags |= SA_ONSTACK | SA_NODEFER;
		if (program->sa_handler == SIG_IGN)
			own.sa_flags |= SA_RESTART;
	}
	own.sa_sigaction = fault_handler;
	own.sa_flags |= SA_SIGINFO;
	own.sa_flags &= ~(int)SA_RESETHAND;
	return REAL(sigaction)(sig, &own, NULL);
}

/*
 * Makes it what the kernel would tell of it. libc adds the same restorer to each action, and so to that of the real
 * handler; from Linux 5.11 on, the kernel drops unknown flags.
 */
static void action_kept(int sig, struct sigaction *act)
{
	struct sigaction now;

	sigdelset(&act->sa_mask, SIGKILL);
	sigdelset(&act->sa_mask, SIGSTOP);
	if (REAL(sigaction)(sig, NULL, &now))
		return;
	act->sa_flags = (act->sa_flags & SA_EMULATED) | (now.sa_flags & ~SA_EMULATED);
	act->sa_restorer = now.sa_restorer;
}

/* The kernel's action and the table's change together, also if two threads call this at once. */
int signals_action_set(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction copy = { 0 }, was;
	uint64_t mask;
	int ret = 0;

	if (act)
		copy = *act;
	mask = table_lock();
	was = *act_entry(sig);
	if (act)
		ret = action_install(sig, &copy);
	if (act && !ret) {
		action_kept(sig, &copy);
		table_put(sig, &copy);
	}
	table_unlock(mask);
	if (old && !ret)
		*old = was;
	return ret;
}

void signals_attach(void)
{
	static const int own[] = { SIGSEGV, SIGBUS };
	static uint32_t begun;
	struct sigaction act;
	uint64_t mask;
	int e = errno;

	if (!atomic_cmpxchg(&begun, 0u, 1u))
		return;
	mask = table_lock();
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		REAL(sigaction)(own[i], NULL, &act);
		table_put(own[i], &act);
	}
	smp_store_release(&signals_owned, true);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		action_install(own[i], act_entry(own[i]));
	table_unlock(mask);
	smp_store_release(&umem_handled, true);
	errno = e;
}
