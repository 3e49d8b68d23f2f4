// Arrays of variable length and alloca, handed to threads.
// Holds. With -DBUG main writes while they read.
#include <alloca.h>
#include <assert.h>
#include <pthread.h>
#include <string.h>
struct part { int *from; int n; int sum; };
static void *sum(void *p)
{
    struct part *part = p;
    int copy[part->n];
    memcpy(copy, part->from, sizeof copy);
    for (int i = 0; i < part->n; i++)
        part->sum += copy[i];
    return NULL;
}
static int parallel(int n, int k)
{
    int data[n];
    struct part *parts = alloca(k * sizeof *parts);
    pthread_t threads[k];
    for (int i = 0; i < n; i++)
        data[i] = i;
    for (int i = 0; i < k; i++) {
        parts[i] = (struct part){ data + i * (n / k), n / k, 0 };
        pthread_create(&threads[i], NULL, sum, &parts[i]);
    }
#ifdef BUG
    data[0] = 100;
#endif
    int total = 0;
    for (int i = 0; i < k; i++) {
        pthread_join(threads[i], NULL);
        total += parts[i].sum;
    }
    return total;
}
int main(int argc, char **argv)
{
    (void)argv;
    assert(parallel(4 * argc, 2 * argc) == 6);
    return 0;
}
