// std::condition_variable with a predicate.
// Holds: the values come out in their order. With -DBUG the consumer waits without a predicate: the notification may be gone
// before it waits, a deadlock.
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#ifndef N
#define N 2
#endif

int main() {
    std::mutex m;
    std::condition_variable changed;
    std::deque<int> queue;
    std::thread producer([&] {
        for (int i = 0; i < N; i++) {
            std::lock_guard guard(m);
            queue.push_back(i);
            changed.notify_one();
        }
    });
    std::thread consumer([&] {
        for (int i = 0; i < N; i++) {
            std::unique_lock guard(m);
#ifdef BUG
            changed.wait(guard);
            if (queue.empty())
                return;
#else
            changed.wait(guard, [&] { return !queue.empty(); });
#endif
            assert(queue.front() == i);
            queue.pop_front();
        }
    });
    producer.join();
    consumer.join();
}
