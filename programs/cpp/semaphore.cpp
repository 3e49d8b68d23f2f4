// std::counting_semaphore lets two of three in at once, std::binary_semaphore hands a value over.
// Holds: never three inside, and the value is there. With -DBUG the semaphore starts with one more.
//
// Fails with a deadlock all the same, as the semaphore of libstdc++ (12, and later ones with the same header) loses a wake-up.
// `acquire` reads the count, then tries to lower it sixteen times, and then sleeps (futex) while the count is what it was at first;
// `release` wakes sleepers only if the count was 0. With two places:
//
//     a  acquires: the count is 1
//     c  begins to acquire, and reads 1
//     b  acquires: the count is 0
//     c  tries sixteen times, and finds 0
//     a  releases: the count is 1; it was 0, so sleepers are woken, but there are none yet
//     c  sleeps while the count is 1, which it is
//     b  releases: the count is 2; it was 1, so nobody is woken
//
// c sleeps for ever, with two places free. libc++ had the same mistake (llvm-project issue 77659, repaired by pull request 79265), and
// other projects avoid libstdc++'s semaphore for it (pytorch pull request 177884). -D_GLIBCXX_USE_POSIX_SEMAPHORE takes the one over sem_t
// instead, and that one is right.
#include <atomic>
#include <cassert>
#include <semaphore>
#include <thread>

#ifdef BUG
static std::counting_semaphore<3> places(3);
#else
static std::counting_semaphore<3> places(2);
#endif
static std::binary_semaphore handed(0);

int main() {
    std::atomic<int> inside{0};
    int value = 0;
    auto visit = [&] {
        places.acquire();
        int now = ++inside;
        assert(now <= 2);
        inside--;
        places.release();
    };
    std::thread a(visit), b(visit);
    std::thread c([&] {
        visit();
        value = 7;
        handed.release();
    });
    handed.acquire();
    assert(value == 7);
    a.join();
    b.join();
    c.join();
}
