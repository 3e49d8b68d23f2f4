// Each thread is given the address of the variable that counts the threads.
// Fails: `data-race`.
#include <assert.h>
#include <pthread.h>
static int seen[3];
static void *t(void *a) { seen[*(int *)a]++; return 0; }
int main(void)
{
    pthread_t th[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&th[i], 0, t, &i);
    for (int i = 0; i < 3; i++)
        pthread_join(th[i], 0);
    return 0;
}
