// std::counting_semaphore lets two of three in at once, std::binary_semaphore hands a value over.
// Holds: never three inside, and the value is there. With -DBUG the semaphore starts with one more.
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
