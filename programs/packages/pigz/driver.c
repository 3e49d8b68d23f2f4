// Drives what pigz's threads share: yarn's locks and threads (yarn.c), and the pools of buffers with use counts (in pigz.c, whose
// functions are static, so that the file is included here with another name for its `main`). Which test is chosen by -DTEST=n.
#define main pigz_main
#include "pigz.c"
#undef main
#include <assert.h>

#ifndef TEST
#define TEST 1
#endif

static struct pool pool;

#if TEST == 1 // two threads take buffers of a pool that has one only, use it alone, and give it back
static int writes; // plain on purpose: the buffer is one thread's at a time

static void user(void *arg) {
    (void)arg;
    struct space *space = get_space(&pool);
    space->buf[0]++;
    writes++;
    drop_space(space);
}

int main(void) {
    new_pool(&pool, 16, 1);
    thread *a = launch(user, NULL), *b = launch(user, NULL);
    join(a);
    join(b);
    assert(writes == 2);
    assert(free_pool(&pool) == 1);
    return 0;
}

#elif TEST == 2 // a buffer with two users goes back when the second drops it, not before; a third thread waits for it
static struct space *shared;

static void second(void *arg) {
    (void)arg;
    assert(shared->buf[0] == 7);
    drop_space(shared);
}

static void taker(void *arg) {
    (void)arg;
    struct space *space = get_space(&pool);
    space->buf[0] = 9;
    drop_space(space);
}

int main(void) {
    new_pool(&pool, 16, 1);
    shared = get_space(&pool);
    shared->buf[0] = 7;
    use_space(shared);
    thread *a = launch(second, NULL), *b = launch(taker, NULL);
    assert(shared->buf[0] == 7);
    drop_space(shared);
    join(a);
    join(b);
    assert(free_pool(&pool) == 1);
    return 0;
}

#elif TEST == 3 // join_all waits for threads in the order in which they end
static int ended[2];

static void one(void *arg) {
    *(int *)arg = 1;
}

int main(void) {
    launch(one, &ended[0]);
    launch(one, &ended[1]);
    assert(join_all() == 2);
    assert(ended[0] && ended[1]);
    return 0;
}
#endif
