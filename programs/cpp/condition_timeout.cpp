// std::condition_variable::wait_for and std::timed_mutex: timeouts may fire whenever they could.
// Holds: who gives up knows it. With -DBUG a timeout is taken for the news.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace std::chrono_literals;

int main() {
    std::mutex m;
    std::condition_variable changed;
    bool news = false;
    std::thread teller([&] {
        std::lock_guard guard(m);
        news = true;
        changed.notify_one();
    });
    std::thread listener([&] {
        std::unique_lock guard(m);
        bool heard = changed.wait_for(guard, 1s, [&] { return news; });
#ifdef BUG
        assert(heard);
#else
        assert(heard == news);
#endif
    });
    teller.join();
    listener.join();
    std::timed_mutex t;
    assert(t.try_lock_for(1ms));
    t.unlock();
}
