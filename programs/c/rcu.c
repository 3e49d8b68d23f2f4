// A model of RCU with grace periods, in userspace: per-CPU reporting of quiescent states, a thread that runs grace periods, and
// the test that every RCU must pass.
// From: the case study of Sachinoglou's thesis (section 6.2: Linux's Tree RCU under a model of the kernel's CPUs and threads,
// after Kokologiannakis and Sagonas 2017), written anew and much smaller: two CPUs share one node of the tree.
//
//   updater (CPU 0)                 reader (CPU 1)
//     x = 1                           rcu_read_lock
//     synchronize_rcu                 r_x = x
//     y = 1                           r_y = y
//                                     rcu_read_unlock
//
// Holds: not (r_x == 0 and r_y == 1), since a reader that began before the grace period ends before it does; and everything ends.
//
// A CPU is a mutex: who holds it runs there. Reading is not preemptible, so that a context switch, or being idle, is a quiescent
// state. A grace period waits for one quiescent state of each CPU:
//   - the CPU reports it on its timer tick, if it passed one since it noticed the grace period;
//   - or the grace-period thread sees from outside that the CPU is or was idle, from a counter that is even while it is.
//
// One thing is broken by each of these (the thesis has six failures and three checks of liveness):
//   -DASSERT_0           an assertion that always fails is at the end: it shows that the end is reached
//   -DFORCE_FAILURE_1    synchronize_rcu does not wait for the grace period
//   -DFORCE_FAILURE_2    the reader passes a quiescent state (it reschedules) inside of its critical section
//   -DFORCE_FAILURE_3    a CPU that notices a new grace period keeps the quiescent state that it passed before it
//   -DFORCE_FAILURE_4    a new grace period does not wait for CPU 1
//   -DFORCE_FAILURE_5    the grace-period thread takes every CPU for idle
//   -DFORCE_FAILURE_6    a report clears the bits of all CPUs, not only its own
//   -DFORCE_FAILURE_7    synchronize_rcu waits for the last grace period that began, not for one that begins after the call
//   -DLIVENESS_CHECK_1   a CPU that becomes idle does not wake the grace-period thread: it may wait for ever
//   -DLIVENESS_CHECK_2   the end of a grace period is not announced: the updater may wait for ever
//   -DLIVENESS_CHECK_3   the grace-period thread looks for a request before it takes the lock: the wake-up may be gone
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef TICKS
#define TICKS 1 // timer ticks inside of the reader's critical section
#endif

enum { CPUS = 2, ALL = (1 << CPUS) - 1 };

// The node of the tree, and what all grace periods share. Everything in it is protected by its lock.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t work; // for the grace-period thread
    pthread_cond_t done; // for those who wait for the end of a grace period
    unsigned begun;      // the number of the grace period that began last
    unsigned completed;  // the number of the grace period that ended last
    unsigned mask;       // the CPUs whose quiescent state is still missing
} rcu = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};
static atomic_bool requested; // written under the lock of `rcu`

// What each CPU has for itself: only who runs there touches it, but for the count.
static struct cpu {
    pthread_mutex_t runs;
    atomic_uint idle_count; // even while it is idle
    unsigned noticed;       // the last grace period that it noticed
    bool passed;            // a quiescent state since then
} cpu[CPUS] = {
    {.runs = PTHREAD_MUTEX_INITIALIZER},
    {.runs = PTHREAD_MUTEX_INITIALIZER},
};

// With the lock of `rcu`.
static void report(int c) {
#ifdef FORCE_FAILURE_6
    (void)c;
    rcu.mask = 0;
#else
    rcu.mask &= ~(1u << c);
#endif
    if (rcu.mask == 0)
        pthread_cond_signal(&rcu.work);
}

static void quiescent(int c) {
    cpu[c].passed = true;
}

// The timer's interrupt on a CPU: notice a new grace period, report to the current one.
static void tick(int c) {
    pthread_mutex_lock(&rcu.lock);
    if (cpu[c].noticed != rcu.begun) {
        cpu[c].noticed = rcu.begun;
#ifndef FORCE_FAILURE_3
        cpu[c].passed = false;
#endif
    }
    if (cpu[c].passed && rcu.mask & 1u << c)
        report(c);
    pthread_mutex_unlock(&rcu.lock);
}

static void enter_cpu(int c) {
    pthread_mutex_lock(&cpu[c].runs);
    atomic_fetch_add(&cpu[c].idle_count, 1);
}

static void leave_cpu(int c) {
    atomic_fetch_add(&cpu[c].idle_count, 1);
    pthread_mutex_unlock(&cpu[c].runs);
#ifndef LIVENESS_CHECK_1
    // Stands for the time after which the grace-period thread looks again by itself.
    pthread_mutex_lock(&rcu.lock);
    if (rcu.mask & 1u << c)
        pthread_cond_signal(&rcu.work);
    pthread_mutex_unlock(&rcu.lock);
#endif
}

static void synchronize_rcu(int c) {
    pthread_mutex_lock(&rcu.lock);
#ifdef FORCE_FAILURE_7
    unsigned target = rcu.begun;
#else
    unsigned target = rcu.begun + 1; // no other updater: nothing is under way that began before
#endif
    atomic_store(&requested, true);
    pthread_cond_signal(&rcu.work);
    pthread_mutex_unlock(&rcu.lock);
    // The caller sleeps, and its CPU with it.
    quiescent(c);
    leave_cpu(c);
#ifdef FORCE_FAILURE_1
    (void)target;
#else
    pthread_mutex_lock(&rcu.lock);
    while (rcu.completed < target)
        pthread_cond_wait(&rcu.done, &rcu.lock);
    pthread_mutex_unlock(&rcu.lock);
#endif
    enter_cpu(c);
}

static bool idle_since(int c, unsigned count_then) {
#ifdef FORCE_FAILURE_5
    (void)c, (void)count_then;
    return true;
#else
    unsigned now = atomic_load(&cpu[c].idle_count);
    return now % 2 == 0 || now != count_then;
#endif
}

static void *grace_periods(void *arg) {
    (void)arg;
    unsigned count[CPUS];
#ifdef LIVENESS_CHECK_3
    bool none = !atomic_load(&requested);
    pthread_mutex_lock(&rcu.lock);
    if (none)
        pthread_cond_wait(&rcu.work, &rcu.lock);
#else
    pthread_mutex_lock(&rcu.lock);
    while (!atomic_load(&requested))
        pthread_cond_wait(&rcu.work, &rcu.lock);
#endif
    atomic_store(&requested, false);
    rcu.begun++;
#ifdef FORCE_FAILURE_4
    rcu.mask = ALL & ~2u;
#else
    rcu.mask = ALL;
#endif
    for (int c = 0; c < CPUS; c++)
        count[c] = atomic_load(&cpu[c].idle_count);
    for (;;) {
        for (int c = 0; c < CPUS; c++)
            if (rcu.mask & 1u << c && idle_since(c, count[c]))
                report(c);
        if (rcu.mask == 0)
            break;
        pthread_cond_wait(&rcu.work, &rcu.lock);
    }
    rcu.completed = rcu.begun;
#ifndef LIVENESS_CHECK_2
    pthread_cond_broadcast(&rcu.done);
#endif
    pthread_mutex_unlock(&rcu.lock);
    return NULL;
}

// The test.
static atomic_int x, y;
static int r_x, r_y;

static void *updater(void *arg) {
    (void)arg;
    enter_cpu(0);
    atomic_store(&x, 1);
    synchronize_rcu(0);
    atomic_store(&y, 1);
    leave_cpu(0);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    enter_cpu(1);
    quiescent(1); // it comes from elsewhere, through the scheduler
    r_x = atomic_load(&x);
    for (int i = 0; i < TICKS; i++) {
#ifdef FORCE_FAILURE_2
        quiescent(1);
        tick(1);
        quiescent(1);
#endif
        tick(1);
    }
    r_y = atomic_load(&y);
    quiescent(1);
    tick(1);
    leave_cpu(1);
    return NULL;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], NULL, grace_periods, NULL);
    pthread_create(&t[1], NULL, updater, NULL);
    pthread_create(&t[2], NULL, reader, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(!(r_x == 0 && r_y == 1));
    assert(rcu.completed == 1);
#ifdef ASSERT_0
    assert(0);
#endif
    return 0;
}
