// condition_variable, with a predicate, with a time limit, and condition_variable_any.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
using namespace std::chrono_literals;
static std::mutex m;
static std::condition_variable c;
static bool ready;
int main() {
  std::thread t([] {
    {
      std::lock_guard<std::mutex> l(m);
      ready = true;
    }
    c.notify_one();
  });
  std::unique_lock<std::mutex> l(m);
#ifdef TIMED
  bool seen = c.wait_for(l, 10ms, [] { return ready; });
  assert(seen == ready);
#else
  c.wait(l, [] { return ready; });
  assert(ready);
#endif
  l.unlock();
  t.join();
}
