// One thread makes a thread, and another waits for it by a handle that may not be there yet.
// Fails: `data-race`, on the handle that pthread_create writes, or `lock-misuse`, where the handle is used before it is written.
#include <pthread.h>
static pthread_t s;
static void *t(void *a) { return a; }
static void *maker(void *a) { pthread_create(&s, 0, t, 0); return a; }
int main(void)
{
    pthread_t m;
    pthread_create(&m, 0, maker, 0);
    pthread_join(s, 0); /* too early */
    pthread_join(m, 0);
    return 0;
}
