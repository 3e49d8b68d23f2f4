// lazy: two threads add to a sum under a lock, a third looks at it. Idea: SV-COMP's pthread/lazy01.
// Wrong: the third thread may come last and see 3. With -DFIXED it allows for that.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int data;

#ifdef FIXED
#define LIMIT 3
#else
#define LIMIT 2
#endif

void *one(void *arg) {
    pthread_mutex_lock(&m); /* one */
    data++;
    pthread_mutex_unlock(&m); /* one */
    return arg;
}

void *two(void *arg) {
    pthread_mutex_lock(&m);
    data += 2;
    pthread_mutex_unlock(&m);
    return arg;
}

void *look(void *arg) {
    pthread_mutex_lock(&m); /* look */
    int seen = data;
    pthread_mutex_unlock(&m); /* look */
    assert(seen <= LIMIT);
    return arg;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_create(&c, 0, look, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    assert(data == 3);
    return 0;
}
