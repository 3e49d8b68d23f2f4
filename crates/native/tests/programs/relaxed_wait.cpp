// A notification orders nothing: who waits with relaxed loads has not seen what was written before.
#include <atomic>
#include <thread>
static std::atomic<int> flag;
static int data;
#ifdef ACQUIRE
#define LOAD std::memory_order_acquire
#define STORE std::memory_order_release
#else
#define LOAD std::memory_order_relaxed
#define STORE std::memory_order_relaxed
#endif
int main() {
  std::thread t([] {
    data = 7;
    flag.store(1, STORE);
    flag.notify_one();
  });
  flag.wait(0, LOAD);
  while (flag.load(LOAD) == 0) ;
  int seen = data;
  t.join();
  return seen != 7;
}
