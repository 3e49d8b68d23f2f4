// time_var_mutex: an inode and a block with a lock each, and a flag that says who owns the block. Idea: SV-COMP's pthread-atomic/
// time_var_mutex after Flanagan, Freund, Qadeer 2002; here for ever.
// Holds: a block that was given is not taken. With -DBUG the one who deletes does not ask whether the block is busy.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t m_inode = PTHREAD_MUTEX_INITIALIZER, m_busy = PTHREAD_MUTEX_INITIALIZER;
int block;
_Bool busy, inode;

void *allocator(void *arg) {
    while (1) {
        pthread_mutex_lock(&m_inode); /* allocator */
        if (!inode) {
            pthread_mutex_lock(&m_busy); /* allocator's block */
            busy = 1; /* mark */
            pthread_mutex_unlock(&m_busy); /* allocator's block */
            inode = 1;
        }
        block = 1;
        assert(block == 1);
        pthread_mutex_unlock(&m_inode); /* allocator */
    }
    return arg;
}

void *deallocator(void *arg) {
    while (1) {
        pthread_mutex_lock(&m_busy); /* deallocator */
#ifndef BUG
        if (!busy) /* guard */
#endif
        {
            block = 0;
            assert(block == 0);
        }
        pthread_mutex_unlock(&m_busy); /* deallocator */
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, allocator, 0);
    pthread_create(&b, 0, deallocator, 0);
    pthread_join(a, 0);
    return 0;
}
