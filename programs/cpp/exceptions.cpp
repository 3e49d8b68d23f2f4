// Exceptions that are thrown, caught, rethrown and kept across scheduling points, in two threads at once.
// Holds: each thread catches its own, and unwinding runs the destructors. With -DBUG the destructor counts in two steps.
#include <atomic>
#include <cassert>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

static std::atomic<int> steps{0}, destroyed{0};

struct guard {
    ~guard() {
        steps++;
#ifdef BUG
        int n = destroyed;
        destroyed = n + 1;
#else
        destroyed++;
#endif
    }
};

static void fail(int me) {
    guard g;
    steps++;
    throw std::runtime_error("thread " + std::to_string(me));
}

static void again(int me) {
    try {
        fail(me);
    } catch (const std::exception &e) {
        steps++;
        assert(e.what() == "thread " + std::to_string(me));
        throw;
    }
}

static void work(int me) {
    try {
        again(me);
        assert(false);
    } catch (const std::runtime_error &e) {
        assert(std::uncaught_exceptions() == 0);
        assert(e.what() == "thread " + std::to_string(me));
    }
}

int main() {
    std::thread a(work, 1), b(work, 2);
    a.join();
    b.join();
    assert(destroyed == 2);
}
