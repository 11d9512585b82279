/* Every rank adds its number; rank 0 prints the sum, and each says where it is. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, sum = 0, length = 0;
  char node[MPI_MAX_PROCESSOR_NAME];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Get_processor_name(node, &length);
  printf("rank %d of %d on %s\n", rank, size, node);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Finalize();
  return 0;
}
