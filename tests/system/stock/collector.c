/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program with libgc, which write-protects its heap (incremental collection) and stops all threads by a signal to
 * collect. Its threads build trees in collected memory, and allocate, map and protect other memory at the same time.
 */
#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 3
#define ROUNDS 1000

struct leaf {
	struct leaf *left, *right;
	unsigned long value;
};

static struct leaf *grow(unsigned long seed, int depth)
{
	struct leaf *l = GC_MALLOC(sizeof(*l));

	l->value = seed * 2654435761UL + (unsigned long)depth;
	if (depth) {
		l->left = grow(l->value, depth - 1);
		l->right = grow(l->value + 1, depth - 1);
	}
	return l;
}

static unsigned long sum(const struct leaf *l)
{
	return l ? l->value + 3 * sum(l->left) + 5 * sum(l->right) : 0;
}

/* Memory that the collector does not know */
static unsigned long other(unsigned long seed)
{
	size_t size = 65536 + seed % 7 * 100000;
	char *block = malloc(size), *zeroed = calloc(1, size), *mapped;
	unsigned long found = 0;

	memset(block, (int)seed, size);
	mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (mapped == MAP_FAILED || mprotect(mapped, 4096, PROT_READ))
		abort();
	for (size_t i = 0; i < size; i += 4096)
		found += (unsigned char)block[i] + (unsigned char)zeroed[i] +
			 (unsigned char)mapped[i];
	block = realloc(block, 2 * size);
	found += (unsigned char)block[size - 1];
	free(block);
	free(zeroed);
	munmap(mapped, size);
	return found;
}

static void *work(void *arg)
{
	unsigned long seed = (unsigned long)arg, total = 0;
	struct leaf *kept = NULL;

	for (unsigned long i = 0; i < ROUNDS; i++) {
		char *large = GC_MALLOC_ATOMIC(1 << 20);

		memset(large, (int)i, 1 << 20);
		if (i % 4 == 0)
			kept = grow(seed + i, 12);
		total = total * 31 + sum(kept) + other(seed * ROUNDS + i) + (unsigned char)large[i];
	}
	return (void *)total;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	void *total;

	GC_INIT();
	if (argc > 1 && !strcmp(argv[1], "incremental"))
		GC_enable_incremental();
	for (unsigned long i = 0; i < THREADS; i++)
		if (GC_pthread_create(&thread[i], NULL, work, (void *)(i + 1)))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		GC_pthread_join(thread[i], &total);
		printf("%d: %lx\n", i, (unsigned long)total);
	}
	return 0;
}
