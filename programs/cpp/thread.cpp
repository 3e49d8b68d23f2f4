// std::thread with a lambda, arguments by value and by reference.
// Holds: the sum of atomic additions. With -DBUG the sum is a plain int: a data race.
#include <atomic>
#include <cassert>
#include <functional>
#include <thread>

#ifdef BUG
using number = int;
#else
using number = std::atomic<int>;
#endif

static void add(number &sum, int what) {
    sum += what;
}

int main() {
    number sum{0};
    std::thread a(add, std::ref(sum), 1);
    std::thread b([&sum] { add(sum, 2); });
    a.join();
    b.join();
    assert(sum == 3);
}
