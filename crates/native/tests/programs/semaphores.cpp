// counting_semaphore, latch, barrier.
#include <barrier>
#include <cassert>
#include <latch>
#include <semaphore>
#include <thread>
static int x;
int main() {
#if CASE == 1
  std::counting_semaphore<2> s(0);
  std::thread t([&] {
    x = 1;
    s.release();
  });
  s.acquire();
  assert(x == 1);
  t.join();
#elif CASE == 2
  std::latch l(1);
  std::thread t([&] {
    x = 1;
    l.count_down();
  });
  l.wait();
  assert(x == 1);
  t.join();
#else
  static int done;
  std::barrier b(2, []() noexcept { done++; });
  std::thread t([&] { b.arrive_and_wait(); });
  b.arrive_and_wait();
  assert(done == 1);
  t.join();
#endif
}
