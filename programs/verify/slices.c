// Two threads look for the greatest number in two halves of an array, by pointers up to the end of each.
// Safe. With BUG the second half is one too long.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
static int data[6] = { 4, 8, 15, 16, 23, 42 };
struct slice { const int *from, *to; int best; };
static void *find_max(void *p)
{
    struct slice *s = p;
    const int *best = s->from;
    for (const int *q = s->from; q < s->to; ++q)
        if (*q > *best)
            best = q;
    s->best = (int)(best - data);
    return 0;
}
int main(void)
{
    pthread_t a, b;
    struct slice s[2] = { { data, data + 3, 0 }, { &data[3], &data[6], 0 } };
#ifdef BUG
    s[1].to++;
#endif
    pthread_create(&a, 0, find_max, &s[0]);
    pthread_create(&b, 0, find_max, s + 1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    ptrdiff_t d = s[1].to - s[0].from;
    assert(d == 6);
    assert(s[0].best == 2 && s[1].best == 5);
    return 0;
}
