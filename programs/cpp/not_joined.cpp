// A std::thread that is destroyed before it was joined or detached ends the program by std::terminate.
// Fails: `abort`, when main sees that the thread has begun and leaves; with -DFIXED it joins in both cases.
#include <atomic>
#include <thread>

int main() {
    std::atomic<bool> begun{false};
    std::thread t([&] { begun = true; });
#ifdef FIXED
    t.join();
#else
    if (!begun)
        t.join();
#endif
}
