// std::shared_mutex: many readers or one writer.
// Holds: readers see both halves of a pair alike. With -DBUG the writer shares the lock with them: a data race.
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>

int main() {
    std::shared_mutex lock;
    int a = 0, b = 0;
    auto read = [&] {
        std::shared_lock guard(lock);
        assert(a == b);
    };
    std::thread writer([&] {
#ifdef BUG
        std::shared_lock guard(lock);
#else
        std::unique_lock guard(lock);
#endif
        a = 1;
        b = 1;
    });
    std::thread first(read), second(read);
    writer.join();
    first.join();
    second.join();
}
