// filesystem: threads give a block to an inode, each inode and each block with a lock. Idea: Flanagan, Godefroid 2005, figure 7.
// Holds: no block has two owners. With -DBUG a block is looked at without its lock.
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif
#define INODES 2
#define BLOCKS 4

pthread_mutex_t locki[INODES], lockb[BLOCKS];
int inode[INODES];
_Bool busy[BLOCKS];
int owners[BLOCKS];

void *thread(void *arg) {
    int i = (int)(long)arg % INODES;
    pthread_mutex_lock(&locki[i]);
    if (inode[i] == 0) {
        int b = 0;
        while (1) {
#ifdef BUG
            if (!busy[b]) {
                pthread_mutex_lock(&lockb[b]);
#else
            pthread_mutex_lock(&lockb[b]); /* block */
            if (!busy[b]) { /* free */
#endif
                busy[b] = 1; /* mark */
                owners[b]++;
                assert(owners[b] == 1);
                inode[i] = b + 1;
                pthread_mutex_unlock(&lockb[b]); /* taken */
                break;
            }
#ifndef BUG
            pthread_mutex_unlock(&lockb[b]);
#endif
            b = (b + 1) % BLOCKS;
        }
    }
    pthread_mutex_unlock(&locki[i]);
    return 0;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < INODES; i++)
        pthread_mutex_init(&locki[i], 0);
    for (int i = 0; i < BLOCKS; i++)
        pthread_mutex_init(&lockb[i], 0);
    for (long i = 0; i < N; i++)
        pthread_create(&t[i], 0, thread, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    return 0;
}
