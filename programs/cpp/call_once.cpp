// std::call_once by two threads.
// Holds: it is done once, and done when call_once returns. With -DBUG the threads ask a plain flag first, which is set before the
// work is done: a data race.
#include <cassert>
#include <mutex>
#include <thread>

int main() {
    std::once_flag once;
    int value = 0;
#ifdef BUG
    bool begun = false;
#endif
    auto use = [&] {
#ifdef BUG
        if (!begun)
            std::call_once(once, [&] {
                begun = true;
                value += 7;
            });
#else
        std::call_once(once, [&] { value += 7; });
#endif
        assert(value == 7);
    };
    std::thread a(use), b(use);
    a.join();
    b.join();
}
