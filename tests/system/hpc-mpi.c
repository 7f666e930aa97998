/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An MPI program for hpc.sh: each rank sends to the next in a ring, in sizes from a short eager
 * message to a rendezvous, and looks at every byte; then a reduction over all.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 20

static const int sizes[] = { 0, 1, 100, 5000, 70000, 1 << 20 };

static unsigned char byte_of(int rank, int round, int i)
{
	return (unsigned char)(rank * 71 + round * 13 + i % 251);
}

static void ring(int rank, int ranks, int round, int len, unsigned char *out, unsigned char *in)
{
	int next = (rank + 1) % ranks, prev = (rank + ranks - 1) % ranks;

	for (int i = 0; i < len; i++)
		out[i] = byte_of(rank, round, i);
	MPI_Sendrecv(out, len, MPI_BYTE, next, round, in, len, MPI_BYTE, prev, round,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < len; i++)
		if (in[i] != byte_of(prev, round, i)) {
			fprintf(stderr, "wrong data: rank %d: byte %d of %d\n", rank, i, len);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
}

int main(int argc, char **argv)
{
	unsigned char *out = malloc(1 << 20), *in = malloc(1 << 20);
	int rank, ranks, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int round = 0; out && in && round < ROUNDS; round++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			ring(rank, ranks, round, sizes[s], out, in);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!out || !in || sum != ranks * (ranks - 1) / 2)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Finalize();
	if (!rank)
		printf("%d ranks agree\n", ranks);
	free(out);
	free(in);
	return 0;
}
