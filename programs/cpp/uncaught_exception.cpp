// A thread throws if it comes second, and nobody catches.
// Fails: `uncaught-exception`. With -DFIXED it is caught in the thread.
#include <atomic>
#include <stdexcept>
#include <thread>

static std::atomic<int> turn{0};

static void second_throws() {
    if (turn++ == 1)
        throw std::runtime_error("too late");
}

static void work() {
#ifdef FIXED
    try {
        second_throws();
    } catch (const std::runtime_error &) {
    }
#else
    second_throws();
#endif
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
