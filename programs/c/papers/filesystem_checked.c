// The file system of Flanagan and Godefroid with its invariant: no block belongs to two inodes. Small sizes, so that all meet.
// From: Flanagan and Godefroid 2005, figure 7.
// Holds: the invariant. With -DBUG the busy bit is read before the block's lock is taken and not again after.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif

enum { INODES = N + 1, BLOCKS = N + 1 };

static pthread_mutex_t locki[INODES] = {[0 ... INODES - 1] = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t lockb[BLOCKS] = {[0 ... BLOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};
static int inode[INODES];
static atomic_int busy[BLOCKS];

static int allocate_block(int b) {
#ifdef BUG
    int is_busy = busy[b];
    pthread_mutex_lock(&lockb[b]);
#else
    pthread_mutex_lock(&lockb[b]);
    int is_busy = busy[b];
#endif
    if (!is_busy)
        busy[b] = 1;
    pthread_mutex_unlock(&lockb[b]);
    return !is_busy;
}

static void *allocate(void *arg) {
    int i = (int)(intptr_t)arg;
    pthread_mutex_lock(&locki[i]);
    if (inode[i] == 0) {
        int b = 0;
        while (!allocate_block(b))
            b = (b + 1) % BLOCKS;
        inode[i] = b + 1;
    }
    pthread_mutex_unlock(&locki[i]);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, allocate, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    for (int i = 1; i <= N; i++)
        for (int j = 1; j < i; j++)
            assert(inode[i] != inode[j]);
    return 0;
}
