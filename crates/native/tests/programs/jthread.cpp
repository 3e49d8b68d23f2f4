// jthread with a stop_token.
#include <cassert>
#include <stop_token>
#include <thread>
int main() {
  static int rounds;
  std::jthread t([](std::stop_token s) {
    while (!s.stop_requested()) std::this_thread::yield();
    rounds++;
  });
  t.request_stop();
  t.join();
  assert(rounds == 1);
}
