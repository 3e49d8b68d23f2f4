// A coroutine that is suspended in one thread and resumed in another. Its frame is on the heap.
// Holds: it goes on where it was, with its locals; the handover orders the two. With -DBUG the handle is handed over before the
// coroutine is suspended: a data race on its frame.
#include <atomic>
#include <cassert>
#include <coroutine>
#include <exception>
#include <thread>

static std::atomic<void *> handed{nullptr};
static int result;

struct task {
    struct promise_type {
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

static task work() {
    int local = 40;
    co_await std::suspend_always{};
    local += 2;
    result = local;
}

int main() {
    task t = work();
    std::thread first([&] {
#ifdef BUG
        handed = t.handle.address();
        t.handle.resume();
#else
        t.handle.resume();
        handed = t.handle.address();
#endif
    });
    std::thread second([&] {
        void *address = handed;
        if (address)
            std::coroutine_handle<>::from_address(address).resume();
    });
    first.join();
    second.join();
    if (!t.handle.done())
        t.handle.resume();
    assert(t.handle.done() && result == 42);
    t.handle.destroy();
}
