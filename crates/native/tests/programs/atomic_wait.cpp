// atomic::wait and notify.
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> flag;
static int data;
int main() {
  std::thread t([] {
    data = 7;
    flag.store(1);
#ifndef LOST
    flag.notify_one();
#endif
  });
  flag.wait(0);
  assert(data == 7);
  t.join();
}
