// Variable arguments and a shared buffer that the C library writes to.
// Holds. With -DBUG there is no lock.
#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
static char buffer[64];
static size_t used;
#ifndef BUG
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#endif
static void logf_(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
#ifndef BUG
    pthread_mutex_lock(&m);
#endif
    int n = vsnprintf(buffer + used, sizeof buffer - used, fmt, ap);
    used += n;
#ifndef BUG
    pthread_mutex_unlock(&m);
#endif
    va_end(ap);
}
static void *talk(void *p) { logf_("%s=%d;", (char *)p, 7); printf("hello from %s %.2f\n", (char *)p, 1.5); return 0; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, talk, "a");
    pthread_create(&b, 0, talk, "bc");
    pthread_join(a, 0);
    pthread_join(b, 0);
    puts(buffer);
    assert(strlen(buffer) == used && used == 9);
    assert(strcmp(buffer, "a=7;bc=7;") == 0 || strcmp(buffer, "bc=7;a=7;") == 0);
    return 0;
}
