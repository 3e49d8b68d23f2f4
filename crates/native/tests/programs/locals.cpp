// Objects of a thread come to their end when it ends, the last one first, before values of keys.
#include <cassert>
#include <cstring>
#include <pthread.h>
#include <thread>
static char order[8];
static int n;
static pthread_key_t k;
struct T {
  char c;
  T(char c) : c(c) {}
  ~T() { order[n++] = c; }
};
static void key(void *p) { order[n++] = *(char *)p; }
int main() {
  pthread_key_create(&k, key);
  std::thread t([] {
    static thread_local T a('a');
    static thread_local T b('b');
    (void)a.c;
    (void)b.c;
    pthread_setspecific(k, "k");
    T local('l');
#ifdef EXIT
    pthread_exit(0);
#endif
  });
  t.join();
  assert(std::memcmp(order, "lbak", 5) == 0);
}
