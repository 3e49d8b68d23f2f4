// filesystem(N): threads 1 to N find a free disk block for an inode each. Every inode and every block has its own lock.
// From: Flanagan and Godefroid 2005, figure 7. Nobody meets anybody up to 13 threads; thread 13 + k wants the block of thread k.
// Holds: nothing is asserted (papers/filesystem_checked.c does). up to 13: 1, 14: 2, 16: 8, 19: 64.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 14
#endif

enum { INODES = 32, BLOCKS = 26 };

static pthread_mutex_t locki[INODES] = {[0 ... INODES - 1] = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t lockb[BLOCKS] = {[0 ... BLOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};
static int inode[INODES];
static int busy[BLOCKS];

static void *allocate(void *arg) {
    int i = (int)(intptr_t)arg % INODES;
    pthread_mutex_lock(&locki[i]);
    if (inode[i] == 0) {
        int b = i * 2 % BLOCKS;
        for (;;) {
            pthread_mutex_lock(&lockb[b]);
            if (!busy[b]) {
                busy[b] = 1;
                inode[i] = b + 1;
                pthread_mutex_unlock(&lockb[b]);
                break;
            }
            pthread_mutex_unlock(&lockb[b]);
            b = (b + 1) % BLOCKS;
        }
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
    return 0;
}
