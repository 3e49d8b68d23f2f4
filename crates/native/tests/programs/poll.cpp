// A loop that looks at a flag with a std::unique_lock.
#include <cassert>
#include <mutex>
#include <thread>
static std::mutex m;
static bool done;
int main() {
  std::thread t([] {
    std::unique_lock<std::mutex> l(m);
    done = true;
  });
  for (;;) {
    std::unique_lock<std::mutex> l(m);
    if (done) break;
  }
  t.join();
}
