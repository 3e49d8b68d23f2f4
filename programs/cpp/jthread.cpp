// std::jthread joins by itself, and is told to stop through its stop_token.
// Holds: the worker stops, and what it did before is seen. With -DBUG main takes it for granted that it worked at least once.
#include <atomic>
#include <cassert>
#include <stop_token>
#include <thread>

int main() {
    std::atomic<int> rounds{0};
    {
        std::jthread worker([&](std::stop_token stop) {
            for (int i = 0; i < 2 && !stop.stop_requested(); i++)
                rounds++;
        });
        worker.request_stop();
    }
    assert(rounds <= 2);
#ifdef BUG
    assert(rounds >= 1);
#endif
}
