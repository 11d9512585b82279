/* Preloaded into a daemon: while the file that SYNC_SHIM names is there, a sync of a file takes two
   seconds longer, and makes the file that SYNC_BEGUN names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int fdatasync(int fd) {
  static int (*real)(int);
  const char *asked = getenv("SYNC_SHIM");
  const char *begun = getenv("SYNC_BEGUN");
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  if (asked != NULL && begun != NULL && access(asked, F_OK) == 0) {
    struct timespec left = {2, 0};
    const int made = open(begun, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (made >= 0) close(made);
    while (nanosleep(&left, &left) != 0) continue;
  }
  return real(fd);
}
