// time_var_mutex: which lock protects `block` changes with time: m_inode once the block is busy, m_busy before that.
// From: SV-COMP's pthread/time_var_mutex and Metzler's thesis, figure 4.14 (after the Frangipani file system); written from the
// description.
// Holds: each finds in block what it wrote, and nothing races. With -DBUG the allocator writes the block before it is busy.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t m_inode = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t m_busy = PTHREAD_MUTEX_INITIALIZER;
static int inode, busy, block;

static void mark_busy(void) {
    pthread_mutex_lock(&m_busy);
    busy = 1;
    pthread_mutex_unlock(&m_busy);
    inode = 1;
}

static void *allocator(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m_inode);
#ifndef BUG
    if (inode == 0)
        mark_busy();
#endif
    block = 1;
    assert(block == 1);
#ifdef BUG
    if (inode == 0)
        mark_busy();
#endif
    pthread_mutex_unlock(&m_inode);
    return NULL;
}

static void *deallocator(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m_busy);
    if (busy == 0) {
        block = 0;
        assert(block == 0);
    }
    pthread_mutex_unlock(&m_busy);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], NULL, allocator, NULL);
    pthread_create(&t[1], NULL, deallocator, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
