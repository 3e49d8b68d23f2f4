// std::latch: main waits until two threads have worked.
// Holds: both results are there after the wait, without a data race. With -DBUG the second thread counts down before it has worked.
#include <cassert>
#include <latch>
#include <thread>

int main() {
    std::latch done(2);
    int results[2] = {0, 0};
    std::thread a([&] {
        results[0] = 1;
        done.count_down();
    });
    std::thread b([&] {
#ifdef BUG
        done.count_down();
        results[1] = 2;
#else
        results[1] = 2;
        done.count_down();
#endif
    });
    done.wait();
    assert(results[0] + results[1] == 3);
    a.join();
    b.join();
}
