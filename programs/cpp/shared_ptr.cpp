// std::shared_ptr: each thread has its own copy, the object dies with the last one.
// Holds: it is destroyed once, after the last use. With -DBUG the threads share one shared_ptr and both reset it: a data race.
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>

static std::atomic<int> destroyed{0};

struct object {
    ~object() { destroyed++; }
    std::atomic<int> uses{0};
};

int main() {
    auto shared = std::make_shared<object>();
#ifdef BUG
    auto use = [&shared] {
        if (shared)
            shared->uses++;
        shared.reset();
    };
    std::thread a(use), b(use);
#else
    auto use = [](std::shared_ptr<object> own) {
        own->uses++;
        own.reset();
    };
    std::thread a(use, shared), b(use, shared);
    shared.reset();
#endif
    a.join();
    b.join();
    assert(destroyed == 1);
}
