// std::async, futures and promises: values and exceptions come through them.
// Holds: the sum, and the exception arrives where get is called. With -DBUG main asks a future whose promise is gone: an
// exception that nobody catches.
#include <cassert>
#include <future>
#include <stdexcept>
#include <thread>

int main() {
    auto six = std::async(std::launch::async, [] { return 6; });
    std::promise<int> promise;
    auto later = promise.get_future();
    std::thread keeper([p = std::move(promise)]() mutable {
#ifndef BUG
        p.set_value(7);
#endif
    });
    auto broken = std::async(std::launch::deferred, []() -> int { throw std::runtime_error("deferred"); });
    keeper.join();
    assert(six.get() * later.get() == 42);
    try {
        broken.get();
        assert(false);
    } catch (const std::runtime_error &) {
    }
}
