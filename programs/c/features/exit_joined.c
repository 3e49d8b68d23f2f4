// A thread ends the process; nobody sees it end, so main never comes back from its join.
// Holds: abort is not reached.
#include <stdlib.h>
#include <pthread.h>
#include <stdio.h>
static void bye(void) { printf("bye\n"); }
static void *t(void *a) { exit(0); return a; }
int main(void)
{
    pthread_t s;
    atexit(bye);
    pthread_create(&s, 0, t, 0);
    pthread_join(s, 0);
    abort();
}
