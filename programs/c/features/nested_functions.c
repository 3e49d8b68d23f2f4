// gcc lets functions be inside functions; that of a thread uses variables of main, through code on the stack.
// Holds, but is never called verified: the compiler does not instrument such accesses.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
int main(void)
{
    int total = 0;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    int values[3] = { 3, 1, 2 };
    int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
    void *add(void *arg)
    {
        pthread_mutex_lock(&m);
        total += *(int *)arg;
        pthread_mutex_unlock(&m);
        return NULL;
    }
    qsort(values, 3, sizeof values[0], compare);
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, add, &values[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(total == 3);
    return 0;
}
