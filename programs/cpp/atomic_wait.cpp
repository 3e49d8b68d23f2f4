// std::atomic::wait and notify.
// Holds: the waiter goes on when the value has changed. With -DBUG nobody is notified: the waiter may sleep for ever, a deadlock.
#include <atomic>
#include <cassert>
#include <thread>

int main() {
    std::atomic<int> turn{0};
    int value = 0;
    std::thread waiter([&] {
        turn.wait(0);
        assert(value == 5);
    });
    std::thread waker([&] {
        value = 5;
        turn = 1;
#ifndef BUG
        turn.notify_one();
#endif
    });
    waiter.join();
    waker.join();
}
