/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handling of SIGSEGV and SIGBUS
 *
 * From the first open of a device on, the kernel's handler for both signals is fault_handler(). It
 * repairs faults inside a checked copy (umem_fix_fault()). Other faults are passed to the program's
 * action, which is kept in a table, with the kernel's semantics: mask, SA_NODEFER, SA_RESETHAND,
 * SA_SIGINFO. Without SA_ONSTACK the program's handler runs on the interrupted stack, although
 * fault_handler() always uses the alternate one. For SIG_DFL the default action is really installed
 * and the fault repeated, so that a core dump shows the right place.
 *
 * The kernel kills a process whose thread faults while the signal is blocked. So when the program
 * blocks the two signals, this is recorded (signals_tls.blocked) but not done, and they are removed
 * from the masks of the program's other handlers. A thread may still have them really blocked: it
 * blocked them before the first open, inherited the mask, or runs the program's handler for one of
 * them. Then engine_thread_ready is false, and signals_enter() unblocks them. If the thread does not
 * run such a handler, they stay unblocked, and signals_tls.blocked records that the program has
 * blocked them. If it does, nothing is recorded, and signals_leave() blocks them again: the handler
 * may end by siglongjmp(), which restores the real mask but could not remove the record.
 *
 * What is sent to a thread that blocks it by record, and calls of libc that depend on the real mask: signals_pending.c.
 */
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include "base/log.h"
#include "base/sys.h"
#include "core/umem.h"
#include "preload/preload.h"
#include "preload/signals_internal.h"
#include "shared/seqlock.h"

__thread struct signals_tls signals_tls __attribute__((tls_model("initial-exec")));
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
void signals_action(int sig, struct sigaction *act)
{
	const struct timespec nap = { .tv_nsec = NS_MS };

	for (int i = 0; i < ACT_NAPS; i++) {
		if (seqlock_read(&table.seq, act, act_entry(sig), sizeof(*act), ACT_TRIES))
			return;
		sys_call(SYS_nanosleep, &nap, NULL);
	}
	*act = (struct sigaction){ .sa_handler = SIG_DFL };
}

/* Blocks all signals meanwhile: a handler on this thread would wait forever for the lock. */
void signals_exchange(int sig, const struct sigaction *act, struct sigaction *old)
{
	uint64_t mask = mask_change(SIG_BLOCK, ~0ull);
	struct sigaction was;

	while (!atomic_cmpxchg(&table.lock, 0u, 1u))
		cpu_relax();
	was = *act_entry(sig);
	if (act) {
		table.was = was;
		table.changing = sig;
		smp_wmb();	/* for signals_forked() */
		seqlock_write(&table.seq, act_entry(sig), act, sizeof(*act));
	}
	smp_store_release(&table.lock, 0u);
	mask_change(SIG_SETMASK, mask);
	if (old)
		*old = was;
}

void signals_forked(void)
{
	uint32_t word;

	if (!seqlock_read_begin(&table.seq, &word)) {
		*act_entry(table.changing) = table.was;
		seqlock_write_end(&table.seq);
	}
	table.lock = 0;
	signals_pending_forked();
}

static void send_to_self(int sig)
{
	long pid = sys_call(SYS_getpid), tid = sys_call(SYS_gettid);

	sys_call(SYS_tgkill, pid, tid, sig);
}

/*
 * Carries out the program's SIG_DFL for a signal that has arrived. A fault repeats by itself after
 * the handler returns; a signal sent by kill() etc. is sent again.
 */
static void act_default(int sig, bool fault)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	REAL(sigaction)(sig, &dfl, NULL);
	mask_change(SIG_UNBLOCK, SIG_BIT(sig));
	if (!fault)
		send_to_self(sig);
}

typedef void (*action_fn)(int, siginfo_t *, void *);

#if defined(__x86_64__)
/* With a frame pointer, so that a backtrace from the handler can cross the switch of stacks. */
static noinline void call_on_stack(uintptr_t sp, action_fn fn, int sig,
				   siginfo_t *si, void *uc)
{
	void *volatile frame = __builtin_frame_address(0);

	(void)frame;
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[sp], %%rsp\n\t"
			 "call *%[fn]\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(sig), "+S"(si), "+d"(uc)
			 : [sp] "r"(sp), [fn] "r"(fn)
			 : "rbx", "rax", "rcx", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0",
			   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

#define STACK_POINTER(uc) ((uc)->uc_mcontext.gregs[REG_RSP])
#define FAULT_PC(uc) ((uc)->uc_mcontext.gregs[REG_RIP])
#define RED_ZONE 128
#elif defined(__aarch64__)
static noinline void call_on_stack(uintptr_t sp, action_fn fn, int sig,
				   siginfo_t *si, void *uc)
{
	register uintptr_t x0 __asm__("x0") = (uintptr_t)sig;
	register siginfo_t *x1 __asm__("x1") = si;
	register void *x2 __asm__("x2") = uc;
	void *volatile frame = __builtin_frame_address(0);

	(void)frame;
	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, %[sp]\n\t"
			 "blr %[fn]\n\t"
			 "mov sp, x19"
			 : "+r"(x0), "+r"(x1), "+r"(x2)
			 : [sp] "r"(sp), [fn] "r"(fn)
			 : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
			   "x14", "x15", "x16", "x17", "x18", "x19", "x30", "cc", "memory", "v0",
			   "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
			   "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
			   "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

#define STACK_POINTER(uc) ((uc)->uc_mcontext.sp)
#define FAULT_PC(uc) ((uc)->uc_mcontext.pc)
#define RED_ZONE 0
#endif

#ifdef STACK_POINTER
/*
 * Stack pointer for a handler that runs on the interrupted stack, below the red zone. 0: the
 * interrupted code runs on the same stack as this function, so no switch of stacks is needed.
 */
static uintptr_t interrupted_stack(const ucontext_t *uc)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t sp = (uintptr_t)STACK_POINTER(uc);
	uintptr_t alt = (uintptr_t)uc->uc_stack.ss_sp;
	size_t size = uc->uc_stack.ss_size;

	if ((uc->uc_stack.ss_flags & SS_DISABLE) || here - alt >= size || sp - alt < size)
		return 0;
	return (sp - RED_ZONE) & ~(uintptr_t)15;
}

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
static void call_on_stack(uintptr_t sp, action_fn fn, int sig, siginfo_t *si, void *uc)
{
	fn(sig, si, uc);
}

static uintptr_t interrupted_stack(const ucontext_t *uc)
{
	return 0;
}

static void fault_tell(int sig, const siginfo_t *si, const ucontext_t *uc)
{
}
#endif

static void call_program(const struct sigaction *act, int sig, siginfo_t *si, ucontext_t *uc)
{
	uintptr_t sp = act->sa_flags & SA_ONSTACK ? 0 : interrupted_stack(uc);
	uint32_t depth = signals_tls.depth;
	uint64_t more;

	/* The interrupted stack has no room for the handler: die, as the kernel would kill the process. */
	if (sp && umem_store64((uint64_t *)sp - 1, 0)) {
		act_default(sig, si->si_code > 0);
		return;
	}
	/* Not to uc's mask: of a wait with a mask, that is the one after the wait. */
	memcpy(&more, &act->sa_mask, sizeof(more));
	if (!(act->sa_flags & SA_NODEFER))
		more |= SIG_BIT(sig);
	mask_change(SIG_BLOCK, more);
	engine_thread_ready = false;
	signals_tls.depth = depth + 1;
	if (sp)
		call_on_stack(sp, act->sa_sigaction, sig, si, uc);
	else
		act->sa_sigaction(sig, si, uc);
	signals_tls.depth = depth;
}

static void act_deliver(int sig, siginfo_t *si, ucontext_t *uc)
{
	bool fault = si->si_code > 0;
	struct sigaction act;

	if (!fault && signals_held(sig)) {
		signals_record(sig, si);
		return;
	}
	if (signals_tls.blocked & own_bit(sig)) {
		act_default(sig, fault);
		return;
	}
	signals_action(sig, &act);
	if (act.sa_handler == SIG_IGN && !fault)
		return;
	if (act.sa_handler == SIG_DFL || act.sa_handler == SIG_IGN) {
		act_default(sig, fault);
		return;
	}
	if (act.sa_flags & (int)SA_RESETHAND) {
		struct sigaction reset = act;

		reset.sa_handler = SIG_DFL;
		signals_exchange(sig, &reset, NULL);
	}
	call_program(&act, sig, si, uc);
}

/*
 * Preserves errno for repaired faults only; the program's handler is responsible for its own
 * changes.
 */
static void fault_handler(int sig, siginfo_t *si, void *uc)
{
	siginfo_t shared;
	int e = errno;

	if (si->si_code > 0 && umem_fix_fault(uc)) {
		errno = e;
		return;
	}
	if (signals_is_nudge(si)) {
		/* Held: the thread has left its wait by siglongjmp(), or will look itself (signals_leave_slow()). */
		if (signals_held(sig)) {
			signals_waiter_end();
			return;
		}
		if (!signals_take_shared(sig, &shared))
			return;
		si = &shared;
	}
	if (si->si_code > 0)
		fault_tell(sig, si, uc);
	act_deliver(sig, si, uc);
}

/*
 * Installs the real handler. Of the emulated flags, SA_RESTART is the only one that the kernel must know.
 */
int signals_install(int sig, const struct sigaction *program)
{
	struct sigaction own = { .sa_sigaction = fault_handler,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	sigemptyset(&own.sa_mask);
	if (program->sa_handler == SIG_IGN)
		own.sa_flags |= SA_RESTART;
	own.sa_flags |= program->sa_flags & (SA_RESTART | ~SA_EMULATED);
	return REAL(sigaction)(sig, &own, NULL);
}

void signals_attach(void)
{
	static const int own[] = { SIGSEGV, SIGBUS };
	static uint32_t begun;
	struct sigaction act;
	int e = errno;

	if (!atomic_cmpxchg(&begun, 0u, 1u))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		REAL(sigaction)(own[i], NULL, &act);
		signals_exchange(own[i], &act, NULL);
	}
	smp_store_release(&signals_owned, true);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		signals_action(own[i], &act);
		signals_install(own[i], &act);
	}
	signals_strip_handlers();
	errno = e;
}

/* Blocked, or to be blocked, before it is unblocked: a signal that is pending comes at once, and must be recorded. */
void signals_enter_slow(struct thread_guard *g)
{
	int e = errno;
	uint64_t mask = mask_change(SIG_BLOCK, 0) & OWN_MASK;

	if (!mask) {
		engine_thread_ready = true;
		signals_tls.depth = 0;
	} else if (signals_tls.depth) {
		g->restore = true;
		g->mask = mask;
		mask_change(SIG_UNBLOCK, mask);
	} else {
		signals_tls.blocked |= bits_of_mask(mask);
		mask_change(SIG_UNBLOCK, mask);
		engine_thread_ready = true;
	}
	errno = e;
}

void signals_thread_enter(struct thread_guard *g)
{
	signals_enter(g);
}

void signals_thread_leave(const struct thread_guard *g)
{
	signals_leave(g);
}

void signals_thread_own(void)
{
	signals_tls.engine = true;
	mask_change(SIG_UNBLOCK, OWN_MASK);
	engine_thread_ready = true;
}

/* In a window, what was recorded meanwhile must be the kernel's again. */
void signals_leave_slow(const struct thread_guard *g)
{
	int e = errno;

	mask_change(SIG_BLOCK, g->mask);
	signals_send_pending(bits_of_mask(g->mask));
	errno = e;
}
