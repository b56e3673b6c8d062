/* A library of a package: its static initialiser says what it has seen, and dies. */
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void dies(void)
{
    fputs("the case of nine has shapes 3, 7, 9\n", stderr);
    fflush(stderr);
    _exit(3);
}
